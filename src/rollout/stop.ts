import { deferred } from '../common/abort.ts';
import type { ClassedError } from '../trace/classedError.ts';
import type { Time } from './time.ts';

/** An AbortSignal with a classed reason; everything that it interrupts rejects with this reason. */
export class Stop {
  readonly #controller = new AbortController();
  /**
   * What else to end. Every effect waits for a stop, several times, and listeners of the signal cost more than the wait
   * itself.
   */
  readonly #waiting = new Set<() => void>();
  #reason: ClassedError | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get reason(): ClassedError | undefined {
    return this.#reason;
  }

  /** Stops with a reason; only the first one counts. */
  stop(reason: ClassedError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller.abort(reason);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const end of waiting) end();
  }

  /** Throws the reason if there is one. */
  check(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** Creates a stop that this one also stops. Call `release` when its work is done. */
  child(): { readonly stop: Stop; readonly release: () => void } {
    const stop = new Stop();
    if (this.#reason !== undefined) stop.stop(this.#reason);
    const pass = (): void => {
      if (this.#reason !== undefined) stop.stop(this.#reason);
    };
    this.#waiting.add(pass);
    return { stop, release: () => void this.#waiting.delete(pass) };
  }

  /** Resolves with `promise`, or rejects with the stop reason and drops a later result of the promise. */
  race<T>(promise: Promise<T>): Promise<T> {
    if (this.#reason !== undefined) {
      promise.catch(() => undefined); // nobody waits for it anymore
      return Promise.reject(this.#reason);
    }
    return new Promise<T>((resolve, reject) => {
      const end = (): void => reject(this.#reason);
      this.#waiting.add(end);
      promise.then(
        (value) => {
          this.#waiting.delete(end);
          resolve(value);
        },
        (error: unknown) => {
          this.#waiting.delete(end);
          reject(error);
        },
      );
    });
  }
}

/** Waits at most `ms` until `promise` is settled. Returns whether it is. */
export async function settledWithin(promise: Promise<unknown>, ms: number, time: Time): Promise<boolean> {
  const late = deferred<boolean>();
  const cancel = time.timer(ms, () => late.resolve(false));
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late.promise]);
  } finally {
    cancel();
  }
}
