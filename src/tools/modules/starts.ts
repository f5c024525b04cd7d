/**
 * How many threads of a worker load at once. Each takes tens of milliseconds of a core: when all rollouts of a worker
 * open their sessions together, every thread would be ready only when the last one is.
 */
export class Starts {
  readonly #most: number;
  readonly #waiting: (() => Promise<unknown> | undefined)[] = [];
  #loading = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Calls `start` as soon as a thread may load; it gives the end of the loading, or undefined when nothing is to be
   * loaded any more.
   */
  ask(start: () => Promise<unknown> | undefined): void {
    this.#waiting.push(start);
    this.#next();
  }

  #next(): void {
    while (this.#loading < this.#most) {
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
