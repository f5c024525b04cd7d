/**
 * Limits change notifications to the speed of rendering: a stream of a thousand events per second renders about 12
 * times per second, on a fast machine twice as often.
 */
import { Emitter, type Listen } from '../../src/common/emitter.ts';

const MIN_MS = 40;
const MAX_MS = 160;
/** Rendering may use one part in this many of the time. The rest is for receiving events and for the user. */
const SHARE = 4;

export class Pace {
  readonly #changed = new Emitter<undefined>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #due = 0;
  #last = -Infinity;
  #interval = MIN_MS;

  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);

  /** Notifies of a change once `interval` ms have passed since the last notification. */
  touch(interval: number = this.#interval): void {
    const due = this.#last + interval;
    if (this.#timer !== undefined && this.#due <= due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => this.#notify(), Math.max(0, due - performance.now()));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #notify(): void {
    this.#timer = undefined;
    const start = (this.#last = performance.now());
    this.#changed.fire(undefined);
    // Listeners render before the next task.
    setTimeout(() => {
      this.#interval = Math.max(MIN_MS, Math.min(MAX_MS, (performance.now() - start) * SHARE));
    });
  }
}
