/** Has spools flushed together, a moment after the first of them had something: one timer for all, none per event. */
import type { Spool } from './spool.ts';

/**
 * Events of a step that come within this time are one frame and one commit. Whoever waits for the server flushes at
 * once.
 */
const SOON_MS = 15;

export class Flusher {
  #waiting = new Set<Spool>();
  #timer: NodeJS.Timeout | undefined;

  readonly soon = (spool: Spool): void => {
    this.#waiting.add(spool);
    this.#timer ??= setTimeout(() => this.#flush(), SOON_MS);
  };

  close(): void {
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  #flush(): void {
    this.#timer = undefined;
    const spools = this.#waiting;
    this.#waiting = new Set();
    for (const spool of spools) spool.flush();
  }
}
