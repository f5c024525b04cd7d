/** Manages the test items: batch files with their tasks. */

import * as vscode from 'vscode';
import { errorText } from '../../common/errors.ts';
import { oneLine } from '../../common/text.ts';
import { basename, dirname } from '../../config/paths.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { TaskList } from '../files/taskList.ts';
import { folderOf, pathOf, uriOf, workspaceFiles } from '../files/workspaceFiles.ts';
import type { Services } from '../services.ts';
import type { MenuItem } from './menuItem.ts';

/** Maximum number of tasks to list. Others only run with their file. */
const MAX_TASKS = 5_000;

export class FileItems {
  readonly controller: vscode.TestController;
  readonly #services: Services;
  readonly #files: StudioFiles;
  readonly #lists = new Map<string, TaskList>();
  /** The newest batch of each file or task. */
  readonly #batches = new Map<string, string>();
  readonly #resolving = new Map<string, Promise<void>>();

  constructor(services: Services, files: StudioFiles, controller: vscode.TestController) {
    this.#services = services;
    this.#files = files;
    this.controller = controller;
  }

  /** Lists all batch files. Keeps existing items, with their results. */
  async discover(): Promise<void> {
    const uris = await this.#files.list('batch');
    const ids = new Set(uris.map(String));
    for (const [id] of [...this.controller.items]) if (!ids.has(id)) this.#remove(id);
    for (const uri of uris) {
      if (this.controller.items.get(uri.toString()) !== undefined) continue;
      const item = this.controller.createTestItem(uri.toString(), basename(uri.path), uri);
      item.description = folderText(uri);
      item.canResolveChildren = true;
      item.range = new vscode.Range(0, 0, 0, 0);
      this.controller.items.add(item);
    }
  }

  #remove(id: string): void {
    this.controller.items.delete(id);
    this.#lists.delete(id);
  }

  /** Reads the tasks of a file. Concurrent calls share one read. */
  resolve(item: vscode.TestItem): Promise<void> {
    let resolving = this.#resolving.get(item.id);
    if (resolving === undefined) {
      resolving = this.#read(item).finally(() => this.#resolving.delete(item.id));
      this.#resolving.set(item.id, resolving);
    }
    return resolving;
  }

  /** Reads files again that were read before. */
  async refresh(): Promise<void> {
    for (const [id, item] of this.controller.items)
      if (this.#lists.has(id) || item.error !== undefined) await this.resolve(item);
  }

  /** Returns the tasks of a resolved file. */
  list(item: vscode.TestItem): TaskList | undefined {
    return this.#lists.get(item.id);
  }

  /** Records the batch that ran tasks of a file. */
  recordRun(file: vscode.TestItem, tasks: Iterable<string>, batch: string): void {
    this.#batches.set(file.id, batch);
    for (const task of tasks) this.#batches.set(keyOf(file, task), batch);
  }

  /** Returns the item of a context menu. */
  itemOf({ id, parent }: MenuItem): vscode.TestItem | undefined {
    return parent === undefined ? this.controller.items.get(id) : this.controller.items.get(parent)?.children.get(id);
  }

  /** Returns the newest batch of an item. */
  batchOf(item: vscode.TestItem): string | undefined {
    return this.#batches.get(item.parent === undefined ? item.id : keyOf(item.parent, item.id));
  }

  async #read(item: vscode.TestItem): Promise<void> {
    const { uri } = item;
    if (uri === undefined) return;
    item.busy = true;
    try {
      const { taskList } = await import('../files/taskList.ts');
      const list = await taskList(workspaceFiles(folderOf(uri)), pathOf(uri), MAX_TASKS);
      this.#lists.set(item.id, list);
      item.error = undefined;
      item.description = [
        folderText(uri),
        list.complete ? `${list.tasks.length} x ${list.attempts}` : `more than ${list.tasks.length} tasks`,
      ]
        .filter((part) => part !== '')
        .join(' · ');
      const dataset = uriOf(uri, list.dataset);
      const existing = new Map([...item.children]);
      item.children.replace(
        list.tasks.map(({ id, question, line }, index) => {
          // Reuse the item if its location is unchanged, so that its results stay.
          const previous = existing.get(id);
          const child =
            previous?.uri?.toString() === dataset.toString()
              ? previous
              : this.controller.createTestItem(id, id, dataset);
          child.range = new vscode.Range(line - 1, 0, line - 1, 0);
          child.sortText = String(index).padStart(6, '0');
          child.description = oneLine(question, 80);
          return child;
        }),
      );
    } catch (error) {
      this.#services.log.info(`Testing view: ${item.id}: ${errorText(error)}`);
      this.#lists.delete(item.id);
      item.error = errorText(error);
      item.children.replace([]);
    } finally {
      item.busy = false;
    }
  }
}

function keyOf(file: vscode.TestItem, task: string): string {
  return JSON.stringify([file.id, task]);
}

/** Returns the folder of a file, to distinguish files with the same name. */
function folderText(uri: vscode.Uri): string {
  const folder = dirname(vscode.workspace.asRelativePath(uri));
  return folder === '.' ? '' : folder;
}
