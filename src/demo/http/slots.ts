/** Slots of an endpoint, given out in the order they were asked for. */
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

  /** Calls `start` once a slot is free, at once if one is. The result takes the request back from the queue. */
  take(start: () => void): () => void {
    if (!this.full) {
      this.#running++;
      start();
      return () => undefined;
    }
    this.#waiting.add(start);
    return () => void this.#waiting.delete(start);
  }

  give(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
