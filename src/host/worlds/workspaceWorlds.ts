/** The worlds of the workspace: their files, scenarios, tasks, and newest batches. */
import type * as vscode from 'vscode';
import type { PublishedWorlds, ScenarioSummary } from '../../client/published/worlds.ts';
import { Emitter } from '../../common/emitter.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { BatchOrigins } from '../batches/origins.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import { folderOf, pathOf, workspaceFiles } from '../files/workspaceFiles.ts';
import type { Services } from '../services.ts';
import type { ContextMeters } from './contextMeters.ts';
import type { OpenWorlds } from './openWorlds.ts';
import type { WorldRef } from './worldRef.ts';

/** Tasks of a world that is used by batches. */
const MAX_TASKS = 200;

export interface WorkspaceWorld {
  readonly uri: vscode.Uri;
  readonly ref: WorldRef;
}

export class WorkspaceWorlds {
  readonly #services: Services;
  readonly #files: StudioFiles;
  #origins: Promise<BatchOrigins> | undefined;
  #open: Promise<OpenWorlds> | undefined;
  #meters: Promise<ContextMeters> | undefined;
  readonly #measured = new Emitter<undefined>();
  /** Fires when an endpoint has said how long the context of a world's model is. */
  readonly measured = this.#measured.event;

  constructor(services: Services, files: StudioFiles) {
    this.#services = services;
    this.#files = files;
  }

  log(text: string): void {
    this.#services.log.warn(text);
  }

  async all(): Promise<WorkspaceWorld[]> {
    const uris = await this.#files.list('world');
    const worlds = await Promise.all(uris.map((uri) => this.read(uri)));
    return worlds
      .filter((world) => world !== undefined)
      .sort((one, other) => one.ref.name.localeCompare(other.ref.name)); // `library` before `library-faults`
  }

  /** Returns undefined for a file that was deleted. */
  async read(uri: vscode.Uri): Promise<WorkspaceWorld | undefined> {
    const path = pathOf(uri);
    try {
      const { readWorldRef } = await import('./worldRef.ts');
      return { uri, ref: await readWorldRef(path, workspaceFiles(folderOf(uri))) };
    } catch (error) {
      this.log(`Worlds: ${uri.path}: ${errorText(error)}`);
      return undefined;
    }
  }

  /** Returns the published scenarios of a world. Throws StudioError if there are none, or not on this machine. */
  async published({ uri, ref }: WorkspaceWorld): Promise<PublishedWorlds> {
    if (ref.from === undefined || uri.scheme !== 'file')
      throw new StudioError('config', `The scenarios of ${ref.name} cannot be read.`, {
        hint: 'Open a folder on disk whose world file has `from`.',
      });
    return (await this.openWorlds()).get(ref.from);
  }

  /** Returns the scenarios with all words. */
  async search(world: WorkspaceWorld, words: string): Promise<readonly ScenarioSummary[]> {
    const published = await this.published(world);
    if (words.trim() === '') return published.scenarios;
    return published.search(words, (await this.openWorlds()).signal);
  }

  /** Closes the folders, so that they are read again. */
  async clear(): Promise<void> {
    await (await this.#open)?.clear();
  }

  /** Returns the newest batch of the files that use a world. */
  async lastBatch(ref: WorldRef): Promise<BatchRow | undefined> {
    const rows = this.#services.batches.rows.value;
    if (rows.length === 0) return undefined;
    this.#origins ??= this.#createOrigins();
    const origins = await this.#origins;
    let newest: BatchRow | undefined;
    for (const { uri } of await this.batchesOf(ref)) {
      const last = await origins.newestOf(rows, pathOf(uri));
      if (last !== undefined && (newest === undefined || last.created_at > newest.created_at)) newest = last;
    }
    return newest;
  }

  async batchesOf(ref: WorldRef): Promise<{ readonly uri: vscode.Uri }[]> {
    return (await this.#files.index.all()).filter(({ world }) => world === ref.path);
  }

  /** Returns the first tasks of the batches that use a world. */
  async batchTasks(ref: WorldRef): Promise<{ readonly id: string; readonly text: string }[]> {
    const { firstTasks } = await import('../files/batchRefs.ts');
    const tasks = new Map<string, string>();
    const datasets = new Set<string>();
    for (const { uri, world, dataset } of await this.#files.index.all()) {
      if (world !== ref.path || dataset === undefined || datasets.has(dataset.path)) continue;
      datasets.add(dataset.path);
      const items = await firstTasks(workspaceFiles(folderOf(uri)), dataset, MAX_TASKS).catch((error: unknown) => {
        this.log(`Worlds: ${dataset.path}: ${errorText(error)}`);
        return [];
      });
      for (const { task } of items) if (!tasks.has(task.id)) tasks.set(task.id, task.question);
    }
    return Array.from(tasks, ([id, text]) => ({ id, text }));
  }

  dispose(): void {
    this.clear().catch((error: unknown) => this.log(`Worlds: ${errorText(error)}`));
  }

  async #createOrigins(): Promise<BatchOrigins> {
    const [{ BatchOrigins }, { LaunchMemory }] = await Promise.all([
      import('../batches/origins.ts'),
      import('../launch/memory.ts'),
    ]);
    return new BatchOrigins(new LaunchMemory(this.#services.context.workspaceState), this.#services.server);
  }

  /** Returns the context meters of the models that play worlds. */
  meters(): Promise<ContextMeters> {
    this.#meters ??= import('./contextMeters.ts').then(
      ({ ContextMeters: Meters }) => new Meters(() => this.#measured.fire(undefined)),
    );
    return this.#meters;
  }

  /** Returns a world file with the batch files that use it, whose agents say how many calls must fit. */
  async withBatches(uri: vscode.Uri): Promise<vscode.Uri[]> {
    const path = pathOf(uri);
    return [uri, ...(await this.#files.index.all()).filter(({ world }) => world === path).map((batch) => batch.uri)];
  }

  /** Returns the open folders. The code that reads them is loaded with the first one. */
  openWorlds(): Promise<OpenWorlds> {
    this.#open ??= import('./openWorlds.ts').then(({ OpenWorlds }) => new OpenWorlds());
    return this.#open;
  }
}
