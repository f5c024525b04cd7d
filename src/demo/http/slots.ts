/** Slots of an endpoint, assigned in the order of the requests. */
export class Slots {
  readonly #limit: number;
  #running = 0;
  readonly #waiting = new Set<() => void>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get full(): boolean {
    return this.#running >= this.#limit;
  }

  /**
   * Calls `start` once a slot is free, immediately if one is. Returns a function that removes the request from the
   * queue.
   */
  acquire(start: () => void): () => void {
    if (!this.full) {
      this.#running++;
      start();
      return () => undefined;
    }
    this.#waiting.add(start);
    return () => void this.#waiting.delete(start);
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
