/** Dispatches the store's change notifications to the listeners of each ID. */
import type { Store } from '../store/store.ts';

type Listener = () => void;

export class Changes {
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #any = new Set<(id: string | undefined) => void>();
  readonly #end: () => void;

  constructor(store: Pick<Store, 'watch'>) {
    this.#end = store.watch((ids) => {
      if (ids.length === 0) this.#all();
      for (const id of ids) {
        const listeners = this.#listeners.get(id);
        if (listeners !== undefined) for (const listener of listeners) listener();
        for (const listener of this.#any) listener(id);
      }
    });
  }

  /**
   * Calls `listener` after each commit that changed `id`. Listeners return immediately and never throw. Returns the
   * function that unsubscribes.
   */
  on(id: string, listener: Listener): () => void {
    let listeners = this.#listeners.get(id);
    if (listeners === undefined) this.#listeners.set(id, (listeners = new Set()));
    const current = listeners;
    current.add(listener);
    return () => {
      current.delete(listener);
      if (current.size === 0 && this.#listeners.get(id) === current) this.#listeners.delete(id);
    };
  }

  /** Like `on`, for every ID; undefined means that anything may have changed. */
  onAny(listener: (id: string | undefined) => void): () => void {
    this.#any.add(listener);
    return () => {
      this.#any.delete(listener);
    };
  }

  close(): void {
    this.#end();
    this.#listeners.clear();
    this.#any.clear();
  }

  #all(): void {
    for (const listeners of this.#listeners.values()) for (const listener of listeners) listener();
    for (const listener of this.#any) listener(undefined);
  }
}
