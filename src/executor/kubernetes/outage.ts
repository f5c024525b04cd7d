/** Tells of an outage that lasts, and of its end; a connection that is cut and made anew is none. */
import type { StudioError } from '../../common/errors.ts';

export class Outage {
  readonly #afterMs: number;
  readonly #tell: (error: StudioError | undefined, ms: number) => void;
  /** When it began; undefined: there is none. */
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #told = false;

  /** `tell` is told how long it has lasted, too. */
  constructor(afterMs: number, tell: (error: StudioError | undefined, ms: number) => void) {
    this.#afterMs = afterMs;
    this.#tell = tell;
  }

  /** What somebody who asked found; undefined: an answer. */
  set(error: StudioError | undefined): void {
    if (error === undefined) {
      clearTimeout(this.#timer);
      if (this.#told) this.#tell(undefined, this.#lasted());
      this.#told = false;
      this.#since = undefined;
    } else if (this.#since === undefined) {
      this.#since = performance.now();
      this.#timer = setTimeout(() => {
        this.#told = true;
        this.#tell(error, this.#lasted());
      }, this.#afterMs);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #lasted(): number {
    return Math.round(performance.now() - (this.#since ?? performance.now()));
  }
}
