/**
 * Limits how many rollouts run at once. A held rollout returns its slot; rollouts that continue come before new ones.
 */
import { cancelled } from '../../common/abort.ts';

interface Waiter {
  readonly grant: () => void;
}

export class Slots {
  readonly #total: number;
  readonly #onFree: () => void;
  #used = 0;
  readonly #continuing: Waiter[] = [];
  readonly #starting: Waiter[] = [];

  /** `onFree` is called when a slot is free and nobody waits for it. */
  constructor(total: number, onFree: () => void) {
    this.#total = total;
    this.#onFree = onFree;
  }

  get free(): number {
    return Math.max(0, this.#total - this.#used - this.#continuing.length - this.#starting.length);
  }

  get used(): number {
    return this.#used;
  }

  /** Waits for a slot. `continuing`: whether the rollout had one before. Rejects with `cancelled`. */
  acquire(continuing: boolean, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(cancelled(signal));
    if (this.#used < this.#total) {
      this.#used++;
      return Promise.resolve();
    }
    const queue = continuing ? this.#continuing : this.#starting;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        queue.splice(queue.indexOf(waiter), 1);
        reject(cancelled(signal));
      };
      const waiter: Waiter = {
        grant: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      queue.push(waiter);
    });
  }

  release(): void {
    const next = this.#continuing.shift() ?? this.#starting.shift();
    if (next !== undefined) {
      next.grant();
      return;
    }
    this.#used--;
    this.#onFree();
  }
}
