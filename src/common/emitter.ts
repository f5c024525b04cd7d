/** Events for every process: `vscode.Event` is not available outside the extension host. */
export interface Subscription {
  dispose(): void;
}

export type Listen<T> = (listener: (value: T) => void) => Subscription;

export class Emitter<T> {
  readonly #listeners = new Set<(value: T) => void>();

  readonly event: Listen<T> = (listener) => {
    const unique = (value: T): void => listener(value); // the same function may be added twice
    this.#listeners.add(unique);
    return { dispose: () => void this.#listeners.delete(unique) };
  };

  get listened(): boolean {
    return this.#listeners.size > 0;
  }

  /** Calls all listeners. Those added or removed during the call make no difference. */
  fire(value: T): void {
    for (const listener of [...this.#listeners]) listener(value);
  }
}

/** A value with a change event. */
export class Observable<T> {
  readonly #changed = new Emitter<T>();
  #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  readonly changed: Listen<T> = (listener) => this.#changed.event(listener);

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    this.#changed.fire(value);
  }
}
