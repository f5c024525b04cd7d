import { ClassedError } from '../../trace/classedError.ts';
import { Counter } from '../loop/limits.ts';
import type { Time } from '../time.ts';

/** Minimum interval for checking a limit while the clock is stopped. */
const PAUSED_CHECK_MS = 100;

/** A time limit that restarts with each progress report and stops for side models, using only one timer. */
export class ProgressTimeout {
  readonly #ms: number;
  readonly #time: Time;
  readonly #clock: Counter;
  /** Also stopped while the call itself waits. */
  readonly #own: Counter;
  readonly #onTimeout: () => void;
  #since: number;
  #cancel: () => void;

  constructor(ms: number, time: Time, clock: Counter, onTimeout: () => void) {
    this.#ms = ms;
    this.#time = time;
    this.#clock = clock;
    this.#onTimeout = onTimeout;
    this.#own = new Counter(this.#outer(), 0);
    this.#since = this.#now();
    this.#cancel = this.#arm(ms);
  }

  /** Stops its clock while the call waits for a side model; waits nest. The end of a wait is a sign of life. */
  wait(waiting: boolean): void {
    this.#own.pause(waiting, this.#outer());
    if (!waiting) this.renew();
  }

  renew(): void {
    this.#since = this.#now();
  }

  end(): void {
    this.#cancel();
  }

  #now(): number {
    return this.#own.value(this.#outer());
  }

  #outer(): number {
    return this.#clock.value(this.#time.monotonic());
  }

  #arm(ms: number): () => void {
    return this.#time.timer(ms, () => {
      const left = this.#ms - (this.#now() - this.#since);
      if (left > 0)
        this.#cancel = this.#arm(Math.max(this.#clock.running && this.#own.running ? 1 : PAUSED_CHECK_MS, left));
      else this.#onTimeout();
    });
  }
}

/** Returns the error of an interrupted call that has ended: the host may know where it was. */
export async function moreAbout(reason: ClassedError, ended: Promise<unknown>): Promise<ClassedError> {
  const error: unknown = await ended.catch((thrown: unknown) => thrown);
  return error instanceof ClassedError && error.class === reason.class ? error : reason;
}
