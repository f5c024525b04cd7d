/** Reads what the questions of a launch need to know about a batch file. */
import type * as vscode from 'vscode';
import { type TaskList, taskList } from '../files/taskList.ts';
import { folderOf, pathOf, workspaceFiles } from '../files/workspaceFiles.ts';
import type { FileFacts } from './plan.ts';

/** Maximum number of tasks to read and offer. */
const MAX_TASKS = 10_000;

/** Throws StudioError `config` with the problems of the file if it is invalid. */
export async function fileFacts(file: vscode.Uri): Promise<{ readonly list: TaskList; readonly facts: FileFacts }> {
  const list = await taskList(workspaceFiles(folderOf(file)), pathOf(file), MAX_TASKS);
  const { tasks, complete, attempts, estimate, parts, demand } = list;
  return { list, facts: { tasks: tasks.length, complete, attempts, estimate, parts, demand } };
}
