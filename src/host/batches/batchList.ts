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

const LIVE_POLL_MS = 1_000;
const IDLE_POLL_MS = 5_000;

interface BatchListPorts {
  readonly server: Pick<ServerLink, 'connection' | 'connected' | 'serverChanged' | 'state'>;
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
  #polling: Promise<void> | undefined;
  #pollAgain = false;
  /** Whether the oldest batch was loaded. */
  #complete = false;
  /** Incremented for each server, to discard outdated responses. */
  #generation = 0;

  constructor(ports: BatchListPorts) {
    this.#ports = ports;
    this.#listeners = [ports.server.connected(() => this.refresh()), ports.server.serverChanged(() => this.#clear())];
  }

  async get(batch: string, signal?: AbortSignal): Promise<BatchRow> {
    const listed = this.rows.value.find((row) => row.batch === batch);
    if (listed !== undefined) return listed;
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
    const listed = new Set(this.rows.value.map((row) => row.batch));
    this.#set([...this.rows.value, ...page.batches.filter((row) => !listed.has(row.batch))]);
    return !this.#complete;
  }

  refresh(): void {
    if (this.#watchers.size > 0) this.#poll();
  }

  watch(options: WatchOptions = {}): { dispose(): void } {
    const watcher = { ...options };
    this.#watchers.add(watcher);
    this.#poll();
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
  #clear(): void {
    this.#generation += 1;
    this.#complete = false;
    this.#set([]);
    this.refresh();
  }

  /** Runs one request at a time. Requests in the meantime cause one more afterwards. */
  #poll(): void {
    clearTimeout(this.#timer);
    if (this.#polling !== undefined) {
      this.#pollAgain = true;
      return;
    }
    this.#pollAgain = false;
    this.#polling = this.#pollOnce().finally(() => {
      this.#polling = undefined;
      if (this.#ended.signal.aborted || this.#watchers.size === 0) return;
      if (this.#pollAgain) this.#poll();
      else this.#timer = setTimeout(() => this.#poll(), this.rows.value.some(isLive) ? LIVE_POLL_MS : IDLE_POLL_MS);
    });
  }

  async #pollOnce(): Promise<void> {
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
    const generation = this.#generation;
    const page = await api.batches({ limit: this.#ports.pageSize() }, signal);
    if (generation !== this.#generation) return;
    if (page.next === undefined) this.#complete = true;
    const oldest = page.batches.at(-1)?.batch;
    // IDs sort by time: keep batches older than the page, and update only those that are running.
    const older =
      page.next === undefined || oldest === undefined ? [] : this.rows.value.filter((row) => row.batch < oldest);
    const current = await Promise.all(older.map(async (row) => (isLive(row) ? api.batch(row.batch, signal) : row)));
    if (generation === this.#generation) this.#set([...page.batches, ...current]);
  }

  #set(rows: readonly BatchRow[]): void {
    const before = this.rows.value;
    const same =
      before.length === rows.length &&
      rows.every((row, index) => JSON.stringify(row) === JSON.stringify(before[index]));
    if (!same) this.rows.set(rows);
  }
}
