/** Tells people when their batch waits for a pause that does not end: the trainer may be dead. */
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { duration } from '../../common/units.ts';
import type { EndpointRecord } from '../../store/endpointStore.ts';
import type { Store } from '../../store/store.ts';

interface LongPausesOptions {
  readonly store: Pick<Store, 'endpoints' | 'addBatchEvent'>;
  readonly batchesOf: (endpoint: string) => readonly string[];
  readonly hasReplicas: (endpoint: string) => boolean;
  readonly log: Log;
}

/** The longest delay of a timer. */
const MAX_TIMER_MS = 0x7fff_ffff;
/** A server that starts does not know its batches at once. */
const AGAIN_MS = 1_000;

export class LongPauses {
  readonly #options: LongPausesOptions;
  #timers: NodeJS.Timeout[] = [];
  #closed = false;

  constructor(options: LongPausesOptions) {
    this.#options = options;
  }

  /** Looks after exactly these records from now on. */
  watch(records: readonly EndpointRecord[]): void {
    this.#clear();
    for (const record of records)
      if (record.paused && !record.reported) this.#after(record, record.since + record.limitMs - Date.now());
  }

  /** Reports the end of pauses that were reported. */
  async ended(before: readonly EndpointRecord[], change: EndpointRecord): Promise<void> {
    const { endpoint, replica, by } = change;
    const wasReported = before.some(
      (one) => one.paused && one.reported && (replica === undefined || one.replica?.name === replica.name),
    );
    if (wasReported) await this.#report(change, `${by} resumed the model endpoint ${endpoint}.`);
  }

  close(): void {
    this.#closed = true;
    this.#clear();
  }

  #clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
  }

  #after(record: EndpointRecord, ms: number): void {
    if (this.#closed) return;
    const timer = setTimeout(
      () => {
        this.#due(record).catch((error: unknown) =>
          this.#options.log(`reporting a long pause failed: ${errorText(error)}`, { level: 'error' }),
        );
      },
      Math.min(Math.max(0, ms), MAX_TIMER_MS),
    );
    timer.unref();
    this.#timers.push(timer);
  }

  async #due(record: EndpointRecord): Promise<void> {
    const { store, batchesOf } = this.#options;
    const { endpoint, replica, by, limitMs } = record;
    if (batchesOf(endpoint).length === 0) {
      this.#after(record, AGAIN_MS);
      return;
    }
    if (!(await store.endpoints.markReported(record))) return;
    const what = replica === undefined ? endpoint : `${replica.name} of ${endpoint}`;
    const resume = `rollout endpoint resume ${endpoint}${replica === undefined ? '' : ` --replica ${replica.name}`}`;
    await this.#report(
      record,
      `The model endpoint ${what} has been paused by ${by} for ${duration(limitMs)}, and model calls wait for it. ` +
        `If the trainer is gone, run “${resume}”, or cancel the batch.`,
    );
  }

  async #report({ endpoint, replica }: Pick<EndpointRecord, 'endpoint' | 'replica'>, text: string): Promise<void> {
    const { store, batchesOf, hasReplicas } = this.#options;
    const about = {
      endpoint: replica?.url ?? endpoint,
      ...(replica === undefined && hasReplicas(endpoint) ? { all_replicas: true as const } : {}),
    };
    for (const batch of batchesOf(endpoint))
      await store.addBatchEvent(batch, 'infra', { what: 'endpoint', ...about, text });
  }
}
