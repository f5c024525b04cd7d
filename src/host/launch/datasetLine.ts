/** The task of a line of a dataset, and the batch files that run it. */
import type * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { taskList } from '../files/taskList.ts';
import { folderOf, pathOf, workspaceFiles } from '../files/workspaceFiles.ts';

const TASKS_READ = 10_000;

export interface LineTask {
  readonly file: vscode.Uri;
  readonly task: string;
}

/** `line`: from 1. Throws `not_found` when no batch file names the dataset, or no record is there. */
export async function tasksOfLine(
  dataset: vscode.Uri,
  line: number,
  files: readonly vscode.Uri[],
): Promise<readonly LineTask[]> {
  const found: LineTask[] = [];
  let named = false;
  for (const file of files) {
    // another file's problems are not asked for
    const list = await taskList(workspaceFiles(folderOf(file)), pathOf(file), TASKS_READ).catch(() => undefined);
    if (list?.dataset !== pathOf(dataset)) continue;
    named = true;
    const task = list.tasks.findLast((spot) => spot.line <= line);
    if (task !== undefined) found.push({ file, task: task.id });
  }
  if (!named)
    throw new StudioError('not_found', 'No batch file of this workspace uses this dataset.', {
      hint: 'Write one with Rollout: New Batch….',
    });
  if (found.length === 0)
    throw new StudioError('not_found', 'No batch file of this workspace runs the task on this line.');
  return found;
}
