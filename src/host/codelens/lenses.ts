/** Computes the lenses for the lines of a file. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { BatchOrigins } from '../batches/origins.ts';
import type { BatchIndex, IndexedBatch } from '../files/batchIndex.ts';
import { firstTasks } from '../files/batchRefs.ts';
import { folderOf, pathOf, workspaceFiles } from '../files/workspaceFiles.ts';
import { LaunchMemory } from '../launch/memory.ts';
import type { BatchList, Services } from '../services.ts';
import { LAUNCH_FILE, LAUNCH_TASK } from './lensCommands.ts';
import { lastText, NBSP, usedByText } from './lensText.ts';

/** Maximum number of dataset lines with a lens. */
const MAX_LINES = 200;

export class LensBuilder {
  readonly #batches: BatchList;
  readonly #origins: BatchOrigins;
  readonly #index: BatchIndex;

  constructor({ batches, context, server }: Services, index: BatchIndex) {
    this.#batches = batches;
    this.#origins = new BatchOrigins(new LaunchMemory(context.workspaceState), server);
    this.#index = index;
  }

  async batch({ uri }: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const last = await this.#origins.newestOf(this.#batches.rows.value, pathOf(uri));
    return [
      lens(0, `$(play)${NBSP}Launch…`, 'rollout.launchBatch', uri),
      ...(last === undefined
        ? []
        : [
            ...(last.state === 'ended'
              ? [lens(0, `$(debug-rerun)${NBSP}Launch Again`, 'rollout.launchAgain', last.batch)]
              : []),
            lens(0, lastText(last, Date.now()), 'rollout.openBatch', last.batch),
          ]),
    ];
  }

  async agent({ uri }: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const path = pathOf(uri);
    const users = (await this.#index.all()).filter(({ agent }) => agent === path).map((batch) => batch.uri);
    return users.length === 0 ? [] : [lens(0, usedByText(users.length), LAUNCH_FILE, users)];
  }

  async dataset({ uri }: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const path = pathOf(uri);
    const users = (await this.#index.all()).filter(
      (batch): batch is IndexedBatch & { dataset: object } => batch.dataset?.path === path,
    );
    const first = users[0];
    if (first === undefined) return [];
    // If several batch files use the dataset, take the ID column of the first; they rarely differ.
    try {
      const tasks = await firstTasks(workspaceFiles(folderOf(uri)), first.dataset, MAX_LINES);
      const uris = users.map((batch) => batch.uri);
      return tasks.map(({ task, line }) =>
        lens(line - 1, `$(play)${NBSP}Launch on This Task`, LAUNCH_TASK, task.id, uris),
      );
    } catch (error) {
      if (StudioError.is(error)) return [];
      throw error;
    }
  }
}

function lens(line: number, title: string, command: string, ...args: readonly unknown[]): vscode.CodeLens {
  return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), { title, command, arguments: [...args] });
}
