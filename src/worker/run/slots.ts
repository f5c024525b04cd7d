/** How many rollouts may run at once. A held one gives its slot back; those that go on come before new ones. */
import { cancelled } from '../../common/abort.ts';

interface Waiter {
  readonly grant: () => void;
}

export class Slots {
  readonly #total: number;
  readonly #onFree: () => void;
  #used = 0;
  readonly #first: Waiter[] = [];
  readonly #then: Waiter[] = [];

  /** `onFree`: a slot is free that nobody waits for. */
  constructor(total: number, onFree: () => void) {
    this.#total = total;
    this.#onFree = onFree;
  }

  get free(): number {
    return Math.max(0, this.#total - this.#used - this.#first.length - this.#then.length);
  }

  get used(): number {
    return this.#used;
  }

  /** Waits for a slot. `goesOn`: for a rollout that had one. Rejects with `cancelled`. */
  take(goesOn: boolean, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(cancelled(signal));
    if (this.#used < this.#total) {
      this.#used++;
      return Promise.resolve();
    }
    const queue = goesOn ? this.#first : this.#then;
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

  give(): void {
    const next = this.#first.shift() ?? this.#then.shift();
    if (next !== undefined) {
      next.grant();
      return;
    }
    this.#used--;
    this.#onFree();
  }
}
