/** Tells of an outage that lasts, and of its end; a connection that is cut and made anew is none. */
import type { StudioError } from '../../common/errors.ts';

export class Outage {
  readonly #afterMs: number;
  readonly #tell: (error: StudioError | undefined) => void;
  #timer: NodeJS.Timeout | undefined;
  #told = false;

  constructor(afterMs: number, tell: (error: StudioError | undefined) => void) {
    this.#afterMs = afterMs;
    this.#tell = tell;
  }

  /** undefined: it is over. */
  set(error: StudioError | undefined): void {
    clearTimeout(this.#timer);
    if (error !== undefined) {
      this.#timer = setTimeout(() => {
        this.#told = true;
        this.#tell(error);
      }, this.#afterMs);
      return;
    }
    if (this.#told) this.#tell(undefined);
    this.#told = false;
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
