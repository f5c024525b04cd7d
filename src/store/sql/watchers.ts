/** Change listeners. One that throws must not affect the others or the writer. */
export class Watchers {
  readonly #watchers = new Set<(ids: readonly string[]) => void>();

  add(changed: (ids: readonly string[]) => void): () => void {
    const watcher = (ids: readonly string[]): void => changed(ids); // each registration is a watcher
    this.#watchers.add(watcher);
    return () => {
      this.#watchers.delete(watcher);
    };
  }

  notify(ids: readonly string[]): void {
    for (const watcher of this.#watchers) {
      try {
        watcher(ids);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
