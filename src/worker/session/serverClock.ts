import type { Clock } from '../../rollout/ports.ts';

/** The server's clock: what it said at `welcome`, and monotonic time since. Never goes back, also not when it says less at a later `welcome`. */
export class ServerClock implements Clock {
  #base = Date.now();
  #since = performance.now();
  #last = 0;

  /** `clock`: what the server said just now, ms since the epoch. */
  set(clock: number): void {
    this.#base = clock;
    this.#since = performance.now();
  }

  now(): number {
    const now = Math.floor(this.#base + performance.now() - this.#since);
    if (now > this.#last) this.#last = now;
    return this.#last;
  }
}
