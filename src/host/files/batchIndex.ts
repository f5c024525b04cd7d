/** Indexes which batch files reference which agents and datasets. Refreshed when a batch file changes. */
import type * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import type { BatchRefs } from './batchRefs.ts';
import { folderOf, pathOf, workspaceFiles } from './workspaceFiles.ts';

export interface IndexedBatch extends BatchRefs {
  readonly uri: vscode.Uri;
}

export class BatchIndex {
  readonly #list: () => Promise<vscode.Uri[]>;
  #index: Promise<IndexedBatch[]> | undefined;

  constructor(list: () => Promise<vscode.Uri[]>) {
    this.#list = list;
  }

  clear(): void {
    this.#index = undefined;
  }

  all(): Promise<IndexedBatch[]> {
    this.#index ??= this.#read();
    this.#index.catch(() => this.clear());
    return this.#index;
  }

  async #read(): Promise<IndexedBatch[]> {
    const [{ batchRefs }, uris] = await Promise.all([import('./batchRefs.ts'), this.#list()]);
    const batches = await Promise.all(
      uris.map(async (uri) => {
        const path = pathOf(uri);
        try {
          return { uri, ...batchRefs(path, await workspaceFiles(folderOf(uri)).readText(path)) };
        } catch (error) {
          if (StudioError.is(error)) return undefined; // deleted, or not text
          throw error;
        }
      }),
    );
    return batches.filter((each) => each !== undefined);
  }
}
