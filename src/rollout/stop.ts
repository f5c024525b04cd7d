import { deferred } from '../common/abort.ts';
import type { ClassedError } from '../trace/classedError.ts';
import type { Time } from './time.ts';

/** An AbortSignal that ends with a classed reason, which is what everything it interrupts rejects with. */
export class Stop {
  readonly #controller = new AbortController();
  #reason: ClassedError | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get reason(): ClassedError | undefined {
    return this.#reason;
  }

  /** The first reason stands. */
  stop(reason: ClassedError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller.abort(reason);
  }

  /** Throws the reason when there is one. */
  check(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** A stop of its own that this one stops too. Call `release` when its work is over. */
  child(): { readonly stop: Stop; readonly release: () => void } {
    const stop = new Stop();
    if (this.#reason !== undefined) stop.stop(this.#reason);
    const pass = (): void => {
      if (this.#reason !== undefined) stop.stop(this.#reason);
    };
    this.signal.addEventListener('abort', pass, { once: true });
    return { stop, release: () => this.signal.removeEventListener('abort', pass) };
  }

  /** Resolves with `promise`, or rejects with the stop reason; a later result of the promise is dropped. */
  race<T>(promise: Promise<T>): Promise<T> {
    if (this.#reason !== undefined) {
      promise.catch(() => undefined); // nobody waits for it any more
      return Promise.reject(this.#reason);
    }
    return new Promise<T>((resolve, reject) => {
      const onAbort = (): void => reject(this.#reason);
      this.signal.addEventListener('abort', onAbort, { once: true });
      promise.then(resolve, reject).finally(() => this.signal.removeEventListener('abort', onAbort));
    });
  }
}

/** Waits until `promise` is settled, at most `ms`. True when it is. */
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
