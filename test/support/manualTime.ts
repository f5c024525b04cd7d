import type { Time } from '../../src/rollout/time.ts';

/** Time that passes only on `advance`. */
export class ManualTime implements Time {
  #now = 0;
  readonly #timers = new Map<object, { at: number; run: () => void }>();

  monotonic(): number {
    return this.#now;
  }

  timer(ms: number, run: () => void): () => void {
    const key = {};
    this.#timers.set(key, { at: this.#now + ms, run });
    return () => this.#timers.delete(key);
  }

  advance(ms: number): void {
    this.#now += ms;
    for (const [key, { at, run }] of [...this.#timers]) if (at <= this.#now && this.#timers.delete(key)) run();
  }
}
