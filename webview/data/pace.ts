/** Tells of changes at most so often: a stream of a thousand events a second is drawn a dozen times a second. */
import { Emitter, type Listen } from '../../src/common/emitter.ts';

const EVERY_MS = 80;

export class Pace {
  readonly #changed = new Emitter<undefined>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = -Infinity;

  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);

  /** Something changed: told now when the last time is long ago, else as soon as it is. */
  touch(): void {
    if (this.#timer !== undefined) return;
    const wait = Math.max(0, this.#last + EVERY_MS - performance.now());
    this.#timer = setTimeout(() => this.#tell(), wait);
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
