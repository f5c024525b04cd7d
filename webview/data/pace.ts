/** Tells of changes at most so often: a stream of a thousand events a second is drawn a dozen times a second. */
import { Emitter, type Listen } from '../../src/common/emitter.ts';

const EVERY_MS = 80;

export class Pace {
  readonly #changed = new Emitter<undefined>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #due = 0;
  #last = -Infinity;

  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);

  /** Something changed: told now when the last time is long ago, else as soon as it is. */
  touch(every: number = EVERY_MS): void {
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
    this.#last = performance.now();
    this.#changed.fire(undefined);
  }
}
