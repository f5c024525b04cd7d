/** Finds the task on a dataset line, and the batch files that run it. */
import type * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { taskList } from '../files/taskList.ts';
import { folderOf, pathOf, workspaceFiles } from '../files/workspaceFiles.ts';

const MAX_TASKS = 10_000;

export interface LineTask {
  readonly file: vscode.Uri;
  readonly task: string;
}

/** `line` starts at 1. Throws StudioError `not_found` if no batch file uses the dataset or the line has no record. */
export async function tasksOfLine(
  dataset: vscode.Uri,
  line: number,
  files: readonly vscode.Uri[],
): Promise<readonly LineTask[]> {
  const matches: LineTask[] = [];
  let isUsed = false;
  for (const file of files) {
    // ignore problems of other files
    const list = await taskList(workspaceFiles(folderOf(file)), pathOf(file), MAX_TASKS).catch(() => undefined);
    if (list?.dataset !== pathOf(dataset)) continue;
    isUsed = true;
    const task = list.tasks.findLast((spot) => spot.line <= line);
    if (task !== undefined) matches.push({ file, task: task.id });
  }
  if (!isUsed)
    throw new StudioError('not_found', 'No batch file in this workspace uses this dataset.', {
      hint: 'Create one with Rollout: New Batch….',
    });
  if (matches.length === 0)
    throw new StudioError('not_found', 'No batch file in this workspace runs the task on this line.');
  return matches;
}
