/** Flushes spools together, shortly after the first of them has events: one timer for all, instead of one per event. */
import type { Spool } from './spool.ts';

/**
 * Events of a step within this time become one frame and one commit. Whoever waits for the server flushes immediately.
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
