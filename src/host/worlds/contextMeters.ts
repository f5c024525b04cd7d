/**
 * How many calls fit in the context of the models that play worlds. Estimated from files alone; an endpoint is asked
 * only when the user wants to know.
 */
import type * as vscode from 'vscode';
import { type FileWorld, fileWorlds, meterOfFile, type WorldMeter } from '../../client/simulation/meters.ts';
import { StudioError } from '../../common/errors.ts';
import { hashOf } from '../../common/hash.ts';
import { folderOf, pathOf, workspaceFiles } from '../files/workspaceFiles.ts';
import { withProgress } from '../window/progress.ts';

/** A meter, and whether the endpoint was asked for this very world. */
export interface ShownMeter extends WorldMeter {
  readonly asked: boolean;
}

const NEVER = new AbortController().signal;

export class ContextMeters {
  /** By the hash of the world: an edit makes an answer of the endpoint outdated. */
  readonly #asked = new Map<string, ShownMeter>();
  readonly #changed: () => void;

  /** `changed`: called when an endpoint has answered. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Returns the meters of the simulated worlds of files, as far as they are known without a request. */
  async of(uris: readonly vscode.Uri[]): Promise<ShownMeter[]> {
    const worlds = await worldsOf(uris);
    return await Promise.all(
      worlds.map(
        async (each) =>
          this.#asked.get(keyOf(each)) ?? { ...(await meterOfFile(each, {}, NEVER, false)), asked: false },
      ),
    );
  }

  /** Asks the endpoints of the worlds, which the user can cancel. Throws StudioError `config` if there are none. */
  async measure(uris: readonly vscode.Uri[]): Promise<ShownMeter[]> {
    const meters = await withProgress('Asking the model of the world how many calls fit', async ({ signal }) => {
      const [worlds] = await Promise.all([
        worldsOf(uris),
        import('../server/outbound.ts').then(({ applyOutbound }) => applyOutbound()),
      ]);
      return await Promise.all(
        worlds.map(async (each): Promise<[string, ShownMeter]> => {
          const meter = await meterOfFile(each, process.env, signal);
          signal.throwIfAborted(); // a request that was stopped says nothing
          return [keyOf(each), { ...meter, asked: true }];
        }),
      );
    });
    if (meters.length === 0)
      throw new StudioError('config', 'This file has errors, or no model plays its world.', {
        hint: 'See the Problems view, or choose a world of kind `simulated`.',
      });
    for (const [key, meter] of meters) this.#asked.set(key, meter);
    this.#changed();
    return meters.map(([, meter]) => meter);
  }
}

/** `uris`: files of one folder. */
async function worldsOf(uris: readonly vscode.Uri[]): Promise<FileWorld[]> {
  const [first] = uris;
  if (first === undefined) return [];
  const folder = folderOf(first);
  return await fileWorlds(workspaceFiles(folder), uris.map(pathOf), pathOf(folder));
}

function keyOf(world: FileWorld): string {
  return hashOf(['meter', world.world, world.steps]);
}
