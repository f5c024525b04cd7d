/**
 * Tells of changes as often as drawing them allows: a stream of a thousand events a second is drawn a dozen times a
 * second, on a quick machine twice as often.
 */
import { Emitter, type Listen } from '../../src/common/emitter.ts';

const MIN_MS = 40;
const MAX_MS = 160;
/** Drawing may take one part in so many of the time; the rest is for what comes and for whoever uses the page. */
const SHARE = 4;

export class Pace {
  readonly #changed = new Emitter<undefined>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #due = 0;
  #last = -Infinity;
  #every = MIN_MS;

  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);

  /** Something changed: told now when the last time is long ago, else as soon as it is. */
  touch(every: number = this.#every): void {
    const due = this.#last + every;
    if (this.#timer !== undefined && this.#due <= due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => this.#tell(), Math.max(0, due - performance.now()));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tell(): void {
    this.#timer = undefined;
    const began = (this.#last = performance.now());
    this.#changed.fire(undefined);
    // Who was told draws before the next task begins.
    setTimeout(() => {
      this.#every = Math.max(MIN_MS, Math.min(MAX_MS, (performance.now() - began) * SHARE));
    });
  }
}
