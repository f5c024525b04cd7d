/** Runs tasks one after another, in order; a failure does not stop the next one. */
export class Serial {
  #tail: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** Resolves when all tasks added so far are done. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
