/**
 * Detects every rollout that finishes, at any server of the store, while this server is elected for it. A server that
 * takes over looks back a little and resends what the previous one may not have sent, under the same IDs.
 */
import { errorText } from '../../../common/errors.ts';
import type { Log } from '../../../common/log.ts';
import type { Store } from '../../../store/store.ts';
import { BATCH_ID } from '../../batches/ids.ts';
import type { Changes } from '../../changes.ts';
import { Throttle } from '../../throttle.ts';

const ROLE = 'otlp';
const ELECT_EVERY_MS = 2_000;
const LOOK_EVERY_MS = 250;
const LOOK_BACK_MS = 30_000;
/** Number of recently changed rows to check in a batch that is older than that. */
const LOOK_BACK_ROWS = 2_000;
const PAGE = 500;
/** Batches that may have ended within that time. */
const RECENT = 20;

interface FinishedOptions {
  readonly store: Store;
  readonly changes: Changes;
  readonly log: Log;
  /** Called once for each rollout. */
  readonly onFinished: (rollout: string) => void;
}

interface WatchedBatch {
  readonly throttle: Throttle;
  /** Revision up to which its rows were read; undefined if not read yet. */
  rev: number | undefined;
  /** Rollouts that were reported, since rows change after their end too. Cleared when the batch has ended. */
  readonly reported: Set<string>;
  ignored: boolean;
}

export class FinishedRollouts {
  readonly #options: FinishedOptions;
  readonly #batches = new Map<string, WatchedBatch>();
  readonly #timer: NodeJS.Timeout;
  #unwatch: (() => void) | undefined;
  #since = 0;
  #electing = false;
  #closed = false;

  constructor(options: FinishedOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#try(), ELECT_EVERY_MS).unref();
    this.#try();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#unwatch?.();
    for (const { throttle } of this.#batches.values()) throttle.close();
  }

  /** Checks for rollouts that finished without notification, for example at shutdown. */
  async check(): Promise<void> {
    if (this.#unwatch === undefined) return;
    for (const [batch, watched] of this.#batches) if (!watched.ignored) await this.#check(batch, watched);
  }

  #try(): void {
    if (this.#electing || this.#unwatch !== undefined) return;
    this.#electing = true;
    this.#elect()
      .catch((error: unknown) =>
        this.#options.log(`the election to export traces failed: ${errorText(error)}`, { level: 'warning' }),
      )
      .finally(() => {
        this.#electing = false;
      });
  }

  async #elect(): Promise<void> {
    const { store, changes } = this.#options;
    if (!(await store.elect(ROLE)) || this.#closed) return;
    this.#since = (await store.now()) - LOOK_BACK_MS;
    this.#unwatch = changes.onAny((id) => {
      if (id === undefined) this.#all().catch((error: unknown) => this.#failed(error));
      else if (BATCH_ID.test(id)) this.#watched(id).throttle.request();
    });
    await this.#all();
  }

  async #all(): Promise<void> {
    const { store } = this.#options;
    const { batches } = await store.batches({ limit: RECENT });
    const recent = batches.filter(({ ended_at }) => (ended_at ?? 0) >= this.#since).map(({ batch }) => batch);
    const active = (await store.activeBatches()).map(({ row }) => row.batch);
    if (!this.#closed)
      for (const batch of new Set([...active, ...recent, ...this.#batches.keys()]))
        this.#watched(batch).throttle.request();
  }

  #watched(batch: string): WatchedBatch {
    let watched = this.#batches.get(batch);
    if (watched === undefined) {
      const created: WatchedBatch = {
        throttle: new Throttle(
          LOOK_EVERY_MS,
          () => this.#check(batch, created),
          (error) => this.#failed(error),
        ),
        rev: undefined,
        reported: new Set(),
        ignored: false,
      };
      this.#batches.set(batch, (watched = created));
    }
    return watched;
  }

  async #check(batch: string, watched: WatchedBatch): Promise<void> {
    if (watched.ignored) return;
    const { store, onFinished } = this.#options;
    const record = await store.batch(batch);
    if (record === undefined || record.row.imported) {
      watched.ignored = true;
      return;
    }
    let rev = watched.rev ?? (record.row.created_at >= this.#since ? 0 : Math.max(0, record.row.rev - LOOK_BACK_ROWS));
    for (;;) {
      const rows = await store.rowsSince(batch, rev, PAGE);
      if (this.#closed) return;
      for (const row of rows) {
        rev = row.rev;
        if (row.state !== 'ended' || (row.progress.ended_at ?? 0) < this.#since || watched.reported.has(row.rollout))
          continue;
        watched.reported.add(row.rollout);
        // A rollout that never ran has no trace.
        if (row.progress.started_at !== undefined) onFinished(row.rollout);
      }
      watched.rev = rev;
      if (rows.length < PAGE) break;
    }
    if (record.row.state === 'ended') watched.reported.clear();
  }

  #failed(error: unknown): void {
    if (!this.#closed)
      this.#options.log(`looking for finished rollouts failed: ${errorText(error)}`, { level: 'warning' });
  }
}
