/** Computes the lenses for the lines of a file. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { parseFile } from '../../config/source/parse.ts';
import { BatchOrigins } from '../batches/origins.ts';
import type { BatchIndex, IndexedBatch } from '../files/batchIndex.ts';
import { firstTasks } from '../files/batchRefs.ts';
import { folderOf, pathOf, workspaceFiles } from '../files/workspaceFiles.ts';
import { LaunchMemory } from '../launch/memory.ts';
import type { BatchList, Services } from '../services.ts';
import { isTight, meterSummary } from '../worlds/meterTexts.ts';
import { simulationRef } from '../worlds/simulationRef.ts';
import type { WorkspaceWorlds } from '../worlds/workspaceWorlds.ts';
import { LAUNCH_FILE, LAUNCH_TASK } from './lensCommands.ts';
import { lastText, NBSP, usedByText } from './lensText.ts';

/** Maximum number of dataset lines with a lens. */
const MAX_LINES = 200;
const MEASURE = 'rollout.measureContext';

export class LensBuilder {
  readonly #batches: BatchList;
  readonly #origins: BatchOrigins;
  readonly #index: BatchIndex;
  readonly #worlds: WorkspaceWorlds;

  constructor({ batches, context, server }: Services, index: BatchIndex, worlds: WorkspaceWorlds) {
    this.#worlds = worlds;
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

  /** How many calls fit in the context of its model, without asking it, and its prompt. */
  async world(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const { uri } = document;
    const line = modelLine(pathOf(uri), document.getText());
    if (line === undefined) return [];
    const [meter] = await (await this.#worlds.meters()).of(await this.#worlds.withBatches(uri));
    return [
      ...(meter === undefined
        ? []
        : [lens(line, `$(${isTight(meter) ? 'warning' : 'dashboard'})${NBSP}${meterSummary(meter)}`, MEASURE, uri)]),
      lens(line, `$(open-preview)${NBSP}Preview Prompt`, 'rollout.previewPrompt', uri),
    ];
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

/** Returns the line of `model`, from 0. Undefined if no model plays the world. */
function modelLine(path: string, text: string): number | undefined {
  const parsed = parseFile(path, text);
  if (simulationRef(parsed) === undefined) return undefined;
  return (parsed.keyRange(['model'])?.line ?? 1) - 1;
}

function lens(line: number, title: string, command: string, ...args: readonly unknown[]): vscode.CodeLens {
  return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), { title, command, arguments: [...args] });
}
