/**
 * Lists the newest batches and keeps the list up to date while it is visible. Polls the first page, more often while
 * a batch is running; older batches only while they run. Does not depend on VS Code.
 */
import { Observable } from '../../common/emitter.ts';
import { StudioError } from '../../common/errors.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { BatchList, ServerLink } from '../services.ts';
import { isLive } from './batchText.ts';

const LIVE_MS = 1_000;
const QUIET_MS = 5_000;

interface BatchListPorts {
  readonly server: Pick<ServerLink, 'connection' | 'connected' | 'moved' | 'state'>;
  /** Number of batches per page. */
  readonly pageSize: () => number;
  readonly log: (text: string) => void;
}

interface WatchOptions {
  /** If false, does not start a server. */
  readonly start?: boolean;
}

export class HostBatchList implements BatchList {
  readonly rows = new Observable<readonly BatchRow[]>([]);
  readonly #ports: BatchListPorts;
  readonly #watchers = new Set<WatchOptions>();
  readonly #ended = new AbortController();
  readonly #listeners: readonly { dispose(): void }[];
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | undefined;
  #askAgain = false;
  /** Whether the oldest batch was loaded. */
  #complete = false;
  /** Incremented for each server, to discard outdated responses. */
  #era = 0;

  constructor(ports: BatchListPorts) {
    this.#ports = ports;
    this.#listeners = [ports.server.connected(() => this.refresh()), ports.server.moved(() => this.#forget())];
  }

  async get(batch: string, signal?: AbortSignal): Promise<BatchRow> {
    const known = this.rows.value.find((row) => row.batch === batch);
    if (known !== undefined) return known;
    const { api } = await this.#ports.server.connection(signal === undefined ? {} : { signal });
    return api.batch(batch, signal);
  }

  async more(signal?: AbortSignal): Promise<boolean> {
    const { api } = await this.#ports.server.connection(signal === undefined ? {} : { signal });
    const oldest = this.rows.value.at(-1)?.batch;
    const page = await api.batches(
      { limit: this.#ports.pageSize(), ...(oldest === undefined ? {} : { before: oldest }) },
      signal,
    );
    this.#complete = page.next === undefined;
    const known = new Set(this.rows.value.map((row) => row.batch));
    this.#set([...this.rows.value, ...page.batches.filter((row) => !known.has(row.batch))]);
    return !this.#complete;
  }

  refresh(): void {
    if (this.#watchers.size > 0) this.#ask();
  }

  watch(options: WatchOptions = {}): { dispose(): void } {
    const watcher = { ...options };
    this.#watchers.add(watcher);
    this.#ask();
    return {
      dispose: () => {
        this.#watchers.delete(watcher);
        if (this.#watchers.size === 0) clearTimeout(this.#timer);
      },
    };
  }

  dispose(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
    this.#watchers.clear();
    for (const listener of this.#listeners) listener.dispose();
  }

  /** Discards the list when the server changes. */
  #forget(): void {
    this.#era += 1;
    this.#complete = false;
    this.#set([]);
    this.refresh();
  }

  /** Runs one request at a time. Requests in the meantime cause one more afterwards. */
  #ask(): void {
    clearTimeout(this.#timer);
    if (this.#asking !== undefined) {
      this.#askAgain = true;
      return;
    }
    this.#askAgain = false;
    this.#asking = this.#askOnce().finally(() => {
      this.#asking = undefined;
      if (this.#ended.signal.aborted || this.#watchers.size === 0) return;
      if (this.#askAgain) this.#ask();
      else this.#timer = setTimeout(() => this.#ask(), this.rows.value.some(isLive) ? LIVE_MS : QUIET_MS);
    });
  }

  async #askOnce(): Promise<void> {
    const { signal } = this.#ended;
    const mayStart = [...this.#watchers].some(({ start }) => start !== false);
    try {
      const { api } = await this.#ports.server.connection({ signal, ...(mayStart ? {} : { start: false }) });
      await this.#update(api, signal);
    } catch (error) {
      if (signal.aborted || (StudioError.is(error) && ['unavailable', 'forbidden', 'cancelled'].includes(error.code)))
        return; // the server link reports it
      this.#ports.log(`Cannot read the list of batches: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async #update(api: Api, signal: AbortSignal): Promise<void> {
    const era = this.#era;
    const page = await api.batches({ limit: this.#ports.pageSize() }, signal);
    if (era !== this.#era) return;
    if (page.next === undefined) this.#complete = true;
    const oldest = page.batches.at(-1)?.batch;
    // IDs sort by time: keep batches older than the page, and update only those that are running.
    const older =
      page.next === undefined || oldest === undefined ? [] : this.rows.value.filter((row) => row.batch < oldest);
    const current = await Promise.all(older.map(async (row) => (isLive(row) ? api.batch(row.batch, signal) : row)));
    if (era === this.#era) this.#set([...page.batches, ...current]);
  }

  #set(rows: readonly BatchRow[]): void {
    const before = this.rows.value;
    const same =
      before.length === rows.length &&
      rows.every((row, index) => JSON.stringify(row) === JSON.stringify(before[index]));
    if (!same) this.rows.set(rows);
  }
}
