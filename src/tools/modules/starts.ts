/**
 * Limits how many threads of a worker load at the same time. Loading takes tens of milliseconds of CPU time: if all
 * rollouts opened their sessions at once, every thread would be ready only when the last one is.
 */
export class Starts {
  readonly #limit: number;
  readonly #waiting: (() => Promise<unknown> | undefined)[] = [];
  #loading = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Calls `start` as soon as another thread may load. `start` returns a promise of the end of loading, or undefined if
   * nothing has to be loaded anymore.
   */
  schedule(start: () => Promise<unknown> | undefined): void {
    this.#waiting.push(start);
    this.#next();
  }

  #next(): void {
    while (this.#loading < this.#limit) {
      const start = this.#waiting.shift();
      if (start === undefined) return;
      const loading = start();
      if (loading === undefined) continue;
      this.#loading += 1;
      const done = (): void => {
        this.#loading -= 1;
        this.#next();
      };
      loading.then(done, done);
    }
  }
}
