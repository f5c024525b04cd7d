/** Waits for groups: one reader of the batch's feed for all requests. */
import { type Deferred, deferred, sleep } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { FinishedGroup } from '../../protocol/groups.ts';
import type { Reconnecting } from './reconnecting.ts';

const WAIT_SECONDS = 30;
/** A feed that answers at once without groups belongs to a batch that ends. */
const QUICK_MS = 1_000;

export class GroupFeed {
  readonly #server: Reconnecting;
  readonly #batch: string;
  readonly #waiting = new Map<string, Deferred<FinishedGroup>>();
  #reading: Promise<void> | undefined;
  #after: string | undefined;
  /** Why it reads no longer. */
  #failed: unknown;

  constructor(server: Reconnecting, batch: string) {
    this.#server = server;
    this.#batch = batch;
  }

  /**
   * Returns what waits for a group that is requested next, before anybody can have read its end. Rejects with
   * StudioError if the feed can no longer be read.
   */
  of(group: string): Promise<FinishedGroup> {
    if (this.#failed !== undefined) return Promise.reject(this.#failed);
    const waiting = deferred<FinishedGroup>();
    waiting.promise.catch(() => undefined); // its request may have failed first
    this.#waiting.set(group, waiting);
    return waiting.promise;
  }

  /** Nobody waits for the group. */
  drop(group: string): void {
    this.#waiting.delete(group);
  }

  /** Begins to read. Ends with the signal. */
  start(signal: AbortSignal): void {
    this.#reading ??= this.#read(signal).catch((error: unknown) => {
      this.#failed = signal.aborted ? new StudioError('unavailable', 'rollout gym ends.') : error;
      for (const waiting of this.#waiting.values()) waiting.reject(this.#failed);
      this.#waiting.clear();
    });
  }

  async #read(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const began = performance.now();
      const after = this.#after;
      const groups = await this.#server.run(
        (api) =>
          api.finishedGroups(this.#batch, { wait: WAIT_SECONDS, ...(after === undefined ? {} : { after }) }, signal),
        signal,
      );
      for (const group of groups) {
        this.#after = group.cursor;
        // Its tokens are read with its messages, when somebody takes it: nobody may come for a long time.
        this.#waiting.get(group.group)?.resolve({ ...group, rows: [] });
        this.#waiting.delete(group.group);
      }
      if (groups.length > 0 || performance.now() - began > QUICK_MS) continue;
      const row = await this.#server.run((api) => api.batch(this.#batch, signal), signal);
      if (row.state === 'ended')
        throw new StudioError('conflict', `Batch ${this.#batch} has ended.`, { hint: 'Start rollout gym again.' });
      await sleep(QUICK_MS, signal);
    }
  }
}
