/**
 * Of which batch a tool's figures are: the one chosen for its file, else the newest that used the tool. Knows nothing
 * of
 * VS Code but by its ports.
 */

import type { BatchCalls } from '../../../client/toolCalls/batchCalls.ts';
import { Emitter, type Listen } from '../../../common/emitter.ts';
import { StudioError } from '../../../common/errors.ts';
import type { Api } from '../../../protocol/api.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import type { BatchList, ServerLink } from '../../services.ts';
import { type Definition, Definitions, isAbout, isBelow } from './definitions.ts';
import { type FollowBatch, OpenBatches } from './openBatches.ts';
import type { ToolFileKind } from './spots.ts';

/** A tool, or the tools of an entry, in the batch they are looked at in. */
export interface ToolFigures {
  readonly row: BatchRow;
  readonly definition: Definition | undefined;
  readonly calls: BatchCalls;
  readonly names: ReadonlySet<string>;
}

export interface FiguresPorts {
  readonly server: Pick<ServerLink, 'connection' | 'connected'>;
  readonly batches: Pick<BatchList, 'rows'>;
  readonly folders: () => readonly string[];
  readonly follow: FollowBatch;
  readonly log: (text: string) => void;
  /** Batches that were chosen, by file. */
  readonly memory: { get(key: string): unknown; update(key: string, value: unknown): Thenable<void> };
}

/** Batches that are looked through for one that used a tool: older ones are history. */
const MOST = 20;
const CHOSEN = 'toolCalls.batches';
/** Changes are told so often at most. */
const TELL_MS = 300;
/** Of a batch that runs, who used which tool is asked again after this. */
const USES_MS = 3_000;

interface Uses {
  readonly rev: number;
  readonly at: number;
  readonly tools: Promise<ReadonlySet<string>>;
}

export class Figures {
  readonly #ports: FiguresPorts;
  readonly #definitions: Definitions;
  readonly #open: OpenBatches;
  readonly #uses = new Map<string, Uses>();
  readonly #changed = new Emitter<void>();
  readonly #listeners: readonly { dispose(): void }[];
  #known = '';
  #timer: NodeJS.Timeout | undefined;

  /** Other figures, of the same batch or another. */
  readonly changed: Listen<void> = this.#changed.event;

  constructor(ports: FiguresPorts) {
    this.#ports = ports;
    this.#definitions = new Definitions(ports.folders);
    this.#open = new OpenBatches({
      server: ports.server,
      follow: ports.follow,
      row: (batch) => ports.batches.rows.value.find((row) => row.batch === batch),
      changed: () => this.#tell(),
      log: ports.log,
    });
    this.#listeners = [
      ports.server.connected(() => {
        this.#open.clear();
        this.#uses.clear();
        this.#tell();
      }),
      ports.batches.rows.changed((rows) => {
        // What runs tells of itself; here it matters which batches there are, and that one came to its end.
        const known = rows.map(({ batch, state }) => `${batch}${state}`).join();
        if (known !== this.#known) this.#tell();
        // Tools may come into use.
        else if (rows.some(({ state }) => state !== 'ended')) this.#tell(USES_MS);
        this.#known = known;
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#open.clear();
    for (const listener of this.#listeners) listener.dispose();
  }

  /** Nobody looks any more: nothing is followed until somebody asks. */
  rest(): void {
    this.#open.rest();
  }

  /** Files changed: tools may stand elsewhere now. */
  filesChanged(): void {
    this.#definitions.forget();
    this.#tell();
  }

  /** The figures of the tools that stand in a file; undefined when no batch that is known used them. */
  async of(kind: ToolFileKind, file: string, names: readonly string[] | undefined): Promise<ToolFigures | undefined> {
    return this.#quietly(async (api) => {
      const chosen = this.chosen(file);
      const rows = this.#rows();
      for (const row of [...rows.filter(({ batch }) => batch === chosen), ...rows]) {
        const definition = await this.#definitions.of(api, row);
        if (definition === undefined || !isAbout(definition, kind, file, names)) continue;
        const used = await this.#usedIn(api, row, names);
        // A server that does not tell its tools brought those that no file explains.
        const own = names ?? [...used].filter((name) => !definition.places.names.includes(name));
        if (row.batch !== chosen && !own.some((name) => used.has(name))) continue;
        return { row, definition, names: new Set(own), calls: await this.#open.open(row) };
      }
      return this.#imported(api, rows, names);
    });
  }

  /** The newest batch from the workspace that a file of code lies in, with what threw there. */
  async around(file: string): Promise<Pick<ToolFigures, 'row' | 'definition' | 'calls'> | undefined> {
    return this.#quietly(async (api) => {
      const chosen = this.chosen(file);
      const rows = this.#rows();
      for (const row of [...rows.filter(({ batch }) => batch === chosen), ...rows]) {
        const definition = await this.#definitions.of(api, row);
        if (definition !== undefined && isBelow(definition, file))
          return { row, definition, calls: await this.#open.open(row) };
      }
      return undefined;
    });
  }

  /** A batch by its id, as commands name it. */
  async named(batch: string, names: ReadonlySet<string>): Promise<ToolFigures | undefined> {
    const { api } = await this.#ports.server.connection();
    const row = this.#ports.batches.rows.value.find((known) => known.batch === batch) ?? (await api.batch(batch));
    return { row, definition: await this.#definitions.of(api, row), names, calls: await this.#open.open(row) };
  }

  async definition(row: BatchRow): Promise<Definition | undefined> {
    const { api } = await this.#ports.server.connection();
    return this.#definitions.of(api, row);
  }

  /** Batches one can choose from for a file: those whose code it is. */
  async candidates(
    kind: ToolFileKind,
    file: string,
    names: readonly string[] | undefined,
  ): Promise<readonly BatchRow[]> {
    const { api } = await this.#ports.server.connection();
    const found: BatchRow[] = [];
    for (const row of this.#rows()) {
      const definition = await this.#definitions.of(api, row);
      if (
        definition !== undefined &&
        (names === undefined ? isBelow(definition, file) : isAbout(definition, kind, file, names))
      )
        found.push(row);
    }
    return found;
  }

  chosen(file: string): string | undefined {
    const value = this.#chosen()[file];
    return typeof value === 'string' ? value : undefined;
  }

  /** undefined: the newest that used the tool, again. */
  async choose(file: string, batch: string | undefined): Promise<void> {
    const rest = Object.entries(this.#chosen()).filter(([known]) => known !== file);
    await this.#ports.memory.update(CHOSEN, Object.fromEntries(batch === undefined ? rest : [...rest, [file, batch]]));
    this.#tell();
  }

  #chosen(): Readonly<Record<string, unknown>> {
    const kept = this.#ports.memory.get(CHOSEN);
    return typeof kept === 'object' && kept !== null ? { ...kept } : {};
  }

  #rows(): readonly BatchRow[] {
    return [...this.#ports.batches.rows.value].sort((a, b) => b.created_at - a.created_at).slice(0, MOST);
  }

  /** Where no batch was run with the code: an imported one that called tools of these names. */
  async #imported(
    api: Api,
    rows: readonly BatchRow[],
    names: readonly string[] | undefined,
  ): Promise<ToolFigures | undefined> {
    if (names === undefined) return undefined;
    for (const row of rows) {
      if (!row.imported) continue;
      const used = await this.#usedIn(api, row, names);
      if (names.some((name) => used.has(name)))
        return { row, definition: undefined, names: new Set(names), calls: await this.#open.open(row) };
    }
    return undefined;
  }

  /** The tools that the attempts of a batch used; of one that runs maybe a little while ago. */
  #usedIn(api: Api, row: BatchRow, names: readonly string[] | undefined): Promise<ReadonlySet<string>> {
    const known = this.#uses.get(row.batch);
    const now = Date.now();
    if (known !== undefined && (known.rev === row.rev || now - known.at < USES_MS)) return known.tools;
    const ask = async (): Promise<ReadonlySet<string>> => {
      const before = await known?.tools.catch(() => undefined);
      // A tool that was used stays used.
      if (before !== undefined && names?.every((name) => before.has(name)) === true) return before;
      const used = new Set<string>();
      for await (const { progress } of api.allRollouts(row.batch)) for (const name of progress.tools) used.add(name);
      return used;
    };
    const tools = ask();
    tools.catch(() => this.#uses.delete(row.batch));
    this.#uses.set(row.batch, { rev: row.rev, at: now, tools });
    return tools;
  }

  /** Without a server, or while it goes away, there are no figures. */
  async #quietly<T>(ask: (api: Api) => Promise<T | undefined>): Promise<T | undefined> {
    try {
      const { api } = await this.#ports.server.connection({ start: false });
      return await ask(api);
    } catch (error) {
      if (!StudioError.is(error)) throw error;
      if (error.code !== 'unavailable' && error.code !== 'cancelled')
        this.#ports.log(`No figures of tools: ${error.message}`);
      return undefined;
    }
  }

  /** After so many milliseconds; what waits for longer is told with it. */
  #tell(ms = TELL_MS): void {
    if (ms === TELL_MS) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#changed.fire();
    }, ms);
  }
}
