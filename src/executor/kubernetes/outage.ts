/** Reports a lasting outage and its end. A connection that breaks and is reestablished quickly is not an outage. */
import type { StudioError } from '../../common/errors.ts';

export class Outage {
  readonly #afterMs: number;
  readonly #report: (error: StudioError | undefined, ms: number) => void;
  /** When the outage started; undefined while there is no outage. */
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReported = false;

  /** `report` also receives the duration of the outage. */
  constructor(afterMs: number, report: (error: StudioError | undefined, ms: number) => void) {
    this.#afterMs = afterMs;
    this.#report = report;
  }

  /** Records the result of a request: its error, or undefined for a response. */
  set(error: StudioError | undefined): void {
    if (error === undefined) {
      clearTimeout(this.#timer);
      if (this.#isReported) this.#report(undefined, this.#lasted());
      this.#isReported = false;
      this.#since = undefined;
    } else if (this.#since === undefined) {
      this.#since = performance.now();
      this.#timer = setTimeout(() => {
        this.#isReported = true;
        this.#report(error, this.#lasted());
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
