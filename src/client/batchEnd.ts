import type { TraceEvent } from '../trace/schema.ts';

/**
 * Knows when a followed batch has ended. A retry goes on behind the end, unless it found nothing to try again: only the
 * batch itself tells which.
 */
export class BatchEnd {
  #state: 'running' | 'ended' | 'unknown';
  readonly #hasEnded: () => Promise<boolean>;
  readonly #onEnd: () => void;

  /**
   * `hasEnded`: whether the batch has ended now. `onEnd` is called when all of its record was read. `whole`: its record
   * is read from the beginning.
   */
  constructor(hasEnded: () => Promise<boolean>, onEnd: () => void, whole = true) {
    this.#state = whole ? 'running' : 'unknown';
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

  /** All that is stored was handed over. */
  async head(): Promise<void> {
    if (this.#state === 'unknown' && (await this.#hasEnded().catch(() => false)) && this.#stillUnknown())
      this.#state = 'ended';
    if (this.reached) this.#onEnd();
  }

  /** Events may have come in the meantime. */
  #stillUnknown(): boolean {
    return this.#state === 'unknown';
  }
}
