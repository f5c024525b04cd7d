/**
 * Selects the batch for a tool's statistics: the one chosen for its file, or else the newest that used the tool. Does
 * not depend on VS Code except through its ports.
 */

import type { BatchCalls } from '../../../client/toolCalls/batchCalls.ts';
import { Emitter, type Listen } from '../../../common/emitter.ts';
import { StudioError } from '../../../common/errors.ts';
import type { Api } from '../../../protocol/api.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import { withoutDebugRuns } from '../../batches/batchText.ts';
import type { BatchList, ServerLink } from '../../services.ts';
import { type Definition, Definitions, includesTool, isInWorkspace } from './definitions.ts';
import { type FollowBatch, OpenBatches } from './openBatches.ts';
import type { ToolFileKind } from './toolLocations.ts';

/** Statistics of a tool, or of an entry's tools, in the selected batch. */
export interface BatchStatistics {
  readonly row: BatchRow;
  readonly definition: Definition | undefined;
  readonly calls: BatchCalls;
  readonly names: ReadonlySet<string>;
}

/** The failed calls of a batch, with the code that was submitted. */
export interface BatchErrors extends Pick<BatchStatistics, 'row' | 'calls'> {
  readonly definition: Definition;
}

export interface StatisticsPorts {
  readonly server: Pick<ServerLink, 'connection' | 'connected'>;
  readonly batches: Pick<BatchList, 'rows'>;
  readonly folders: () => readonly string[];
  readonly follow: FollowBatch;
  readonly log: (text: string) => void;
  readonly memory: { get(key: string): unknown; update(key: string, value: unknown): Thenable<void> };
}

/** Number of newest batches to search for one that used a tool. */
const MAX_BATCHES = 20;
/** Memento key of the chosen batches by file. */
const STATE_KEY = 'toolCalls.batches';
/** Minimum interval between change events. */
const NOTIFY_MS = 300;
/** How long the tool usage of a running batch is cached. */
const USE_CACHE_MS = 3_000;

interface ToolUse {
  readonly rev: number;
  readonly at: number;
  readonly tools: Promise<ReadonlySet<string>>;
}

export class ToolStatistics {
  readonly #ports: StatisticsPorts;
  readonly #definitions: Definitions;
  readonly #open: OpenBatches;
  readonly #uses = new Map<string, ToolUse>();
  readonly #changed = new Emitter<void>();
  readonly #listeners: readonly { dispose(): void }[];
  #lastStates = '';
  #timer: NodeJS.Timeout | undefined;

  /** Fires when statistics or the selected batch changed. */
  readonly changed: Listen<void> = this.#changed.event;

  constructor(ports: StatisticsPorts) {
    this.#ports = ports;
    this.#definitions = new Definitions(ports.folders);
    this.#open = new OpenBatches({
      server: ports.server,
      follow: ports.follow,
      row: (batch) => ports.batches.rows.value.find((row) => row.batch === batch),
      changed: () => this.#notify(),
      log: ports.log,
    });
    this.#listeners = [
      ports.server.connected(() => {
        this.#open.clear();
        this.#uses.clear();
        this.#notify();
      }),
      ports.batches.rows.changed((rows) => {
        // Running batches report changes themselves. Here, only new and ended batches matter.
        const states = rows.map(({ batch, state }) => `${batch}${state}`).join();
        if (states !== this.#lastStates) this.#notify();
        // A running batch may use more tools.
        else if (rows.some(({ state }) => state !== 'ended')) this.#notify(USE_CACHE_MS);
        this.#lastStates = states;
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#open.clear();
    for (const listener of this.#listeners) listener.dispose();
  }

  /** Stops following batches until the next request. */
  stopFollowing(): void {
    this.#open.stopFollowing();
  }

  /** Called when files changed, because tools may have moved. */
  filesChanged(): void {
    this.#definitions.forget();
    this.#notify();
  }

  /** Returns the statistics of tools in a file, or undefined if no listed batch used them. */
  async of(
    kind: ToolFileKind,
    file: string,
    names: readonly string[] | undefined,
  ): Promise<BatchStatistics | undefined> {
    return this.#tryRead(async (api) => {
      const chosenBatch = this.chosenBatch(file);
      const rows = this.#rows();
      for (const row of [...rows.filter(({ batch }) => batch === chosenBatch), ...rows]) {
        const definition = await this.#definitions.of(api, row);
        if (definition === undefined || !includesTool(definition, kind, file, names)) continue;
        const used = await this.#usedTools(api, row, names);
        // Attribute tools that no file defines to a server that does not list its tools.
        const tools = names ?? [...used].filter((name) => !definition.places.names.includes(name));
        if (row.batch !== chosenBatch && !tools.some((name) => used.has(name))) continue;
        return { row, definition, names: new Set(tools), calls: await this.#open.open(row) };
      }
      return this.#ofImported(api, rows, names);
    });
  }

  /** Returns the newest batch of a code file's workspace, with the errors in that file. */
  ofWorkspace(file: string): Promise<BatchErrors | undefined> {
    return this.#newest(file, (definition) => isInWorkspace(definition, file));
  }

  /** Returns the newest batch that ran a scenario, with the errors in its code. `file`: its extracted code. */
  ofScenario(file: string, scenario: string): Promise<BatchErrors | undefined> {
    return this.#newest(
      file,
      ({ codeFileOf }, row) => row.rescores === undefined && codeFileOf(scenario) !== undefined,
    );
  }

  /** Returns the batch chosen for a file, or the newest one, that matches. */
  #newest(file: string, matches: (definition: Definition, row: BatchRow) => boolean): Promise<BatchErrors | undefined> {
    return this.#tryRead(async (api) => {
      const chosenBatch = this.chosenBatch(file);
      const rows = this.#rows();
      for (const row of [...rows.filter(({ batch }) => batch === chosenBatch), ...rows]) {
        const definition = await this.#definitions.of(api, row);
        if (definition !== undefined && matches(definition, row))
          return { row, definition, calls: await this.#open.open(row) };
      }
      return undefined;
    });
  }

  /** Returns a batch by ID, for commands. */
  async ofBatch(batch: string, names: ReadonlySet<string>): Promise<BatchStatistics | undefined> {
    const { api } = await this.#ports.server.connection();
    const row = this.#ports.batches.rows.value.find((listed) => listed.batch === batch) ?? (await api.batch(batch));
    return { row, definition: await this.#definitions.of(api, row), names, calls: await this.#open.open(row) };
  }

  async definition(row: BatchRow): Promise<Definition | undefined> {
    const { api } = await this.#ports.server.connection();
    return this.#definitions.of(api, row);
  }

  /** Returns the batches that used a file's code, to choose from. */
  async candidates(
    kind: ToolFileKind,
    file: string,
    names: readonly string[] | undefined,
  ): Promise<readonly BatchRow[]> {
    const { api } = await this.#ports.server.connection();
    const candidates: BatchRow[] = [];
    for (const row of this.#rows()) {
      const definition = await this.#definitions.of(api, row);
      if (
        definition !== undefined &&
        (names === undefined ? isInWorkspace(definition, file) : includesTool(definition, kind, file, names))
      )
        candidates.push(row);
    }
    return candidates;
  }

  chosenBatch(file: string): string | undefined {
    const value = this.#choices()[file];
    return typeof value === 'string' ? value : undefined;
  }

  /** Chooses the batch of a file; undefined resets to the newest that used the tool. */
  async choose(file: string, batch: string | undefined): Promise<void> {
    const others = Object.entries(this.#choices()).filter(([path]) => path !== file);
    await this.#ports.memory.update(
      STATE_KEY,
      Object.fromEntries(batch === undefined ? others : [...others, [file, batch]]),
    );
    this.#notify();
  }

  #choices(): Readonly<Record<string, unknown>> {
    const stored = this.#ports.memory.get(STATE_KEY);
    return typeof stored === 'object' && stored !== null ? { ...stored } : {};
  }

  #rows(): readonly BatchRow[] {
    return [...withoutDebugRuns(this.#ports.batches.rows.value)]
      .sort((a, b) => b.created_at - a.created_at)
      .slice(0, MAX_BATCHES);
  }

  /** If no batch ran the code, finds an imported batch that called tools with these names. */
  async #ofImported(
    api: Api,
    rows: readonly BatchRow[],
    names: readonly string[] | undefined,
  ): Promise<BatchStatistics | undefined> {
    if (names === undefined) return undefined;
    for (const row of rows) {
      if (!row.imported) continue;
      const used = await this.#usedTools(api, row, names);
      if (names.some((name) => used.has(name)))
        return { row, definition: undefined, names: new Set(names), calls: await this.#open.open(row) };
    }
    return undefined;
  }

  /** Returns the tools that a batch used. Cached for a while if it is running. */
  #usedTools(api: Api, row: BatchRow, names: readonly string[] | undefined): Promise<ReadonlySet<string>> {
    const cached = this.#uses.get(row.batch);
    const now = Date.now();
    if (cached !== undefined && (cached.rev === row.rev || now - cached.at < USE_CACHE_MS)) return cached.tools;
    const read = async (): Promise<ReadonlySet<string>> => {
      const earlier = await cached?.tools.catch(() => undefined);
      // Used tools stay used.
      if (earlier !== undefined && names?.every((name) => earlier.has(name)) === true) return earlier;
      const used = new Set<string>();
      for await (const { progress } of api.allRollouts(row.batch)) for (const name of progress.tools) used.add(name);
      return used;
    };
    const tools = read();
    tools.catch(() => this.#uses.delete(row.batch));
    this.#uses.set(row.batch, { rev: row.rev, at: now, tools });
    return tools;
  }

  /** Returns undefined if the server is unavailable. */
  async #tryRead<T>(read: (api: Api) => Promise<T | undefined>): Promise<T | undefined> {
    try {
      const { api } = await this.#ports.server.connection({ start: false });
      return await read(api);
    } catch (error) {
      if (!StudioError.is(error)) throw error;
      if (error.code !== 'unavailable' && error.code !== 'cancelled')
        this.#ports.log(`No tool statistics: ${error.message}`);
      return undefined;
    }
  }

  /** Fires after `ms` milliseconds. An earlier event replaces a later one. */
  #notify(ms = NOTIFY_MS): void {
    if (ms === NOTIFY_MS) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#changed.fire();
    }, ms);
  }
}
