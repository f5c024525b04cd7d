import type { TraceEvent } from '../trace/schema.ts';

/**
 * Tracks whether a followed batch has ended. After a retry the batch continues, unless there was nothing to retry;
 * only the batch’s current state tells which.
 */
export class BatchEnd {
  #state: 'running' | 'ended' | 'unknown';
  readonly #hasEnded: () => Promise<boolean>;
  readonly #onEnd: () => void;

  /**
   * @param hasEnded Queries whether the batch has ended now.
   * @param onEnd Called when the batch has ended and all of its events were read.
   * @param fromStart Whether events are read from the beginning.
   */
  constructor(hasEnded: () => Promise<boolean>, onEnd: () => void, fromStart = true) {
    this.#state = fromStart ? 'running' : 'unknown';
    this.#hasEnded = hasEnded;
    this.#onEnd = onEnd;
  }

  get reached(): boolean {
    return this.#state === 'ended';
  }

  add(events: readonly TraceEvent[]): void {
    for (const event of events) {
      if (event.kind === 'batch.end') this.#state = 'ended';
      else if (event.kind === 'control' && event.data.verb === 'retry' && this.#state === 'ended')
        this.#state = 'unknown';
    }
  }

  /** Called when all stored events were received. */
  async head(): Promise<void> {
    if (this.#state === 'unknown' && (await this.#hasEnded().catch(() => false)) && this.#stillUnknown())
      this.#state = 'ended';
    if (this.reached) this.#onEnd();
  }

  /** Checks again, because events may have arrived during the query. */
  #stillUnknown(): boolean {
    return this.#state === 'unknown';
  }
}
