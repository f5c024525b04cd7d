/**
 * A list of disposers, run last to first. Adding to a disposed list runs the disposer immediately, so nothing leaks in
 * a race.
 */
export class Disposables implements AsyncDisposable {
  readonly #items: (() => void | Promise<void>)[] = [];
  #disposed = false;

  get disposed(): boolean {
    return this.#disposed;
  }

  add(dispose: () => void | Promise<void>): void {
    if (this.#disposed) {
      void dispose();
      return;
    }
    this.#items.push(dispose);
  }

  /** Runs every disposer even when one throws; then throws all errors as one AggregateError. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    const errors: unknown[] = [];
    for (let item = this.#items.pop(); item !== undefined; item = this.#items.pop()) {
      try {
        await item();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'some resources did not close cleanly');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }
}
