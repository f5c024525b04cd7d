/**
 * Caches external values by key. Returns the known value at once and refreshes it in the background.
 */
const FRESH_MS = 5 * 60_000;
/** Retry delay after a failure. */
const FAILED_MS = 60_000;

interface CacheEntry<T> {
  value: T | undefined;
  again: number;
  asking: boolean;
}

export class RefreshingCache<T> {
  readonly #options: { readonly atOnce: number; readonly changed: () => void };
  readonly #entries = new Map<string, CacheEntry<T>>();
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #stop = new AbortController();
  #running = 0;

  constructor(options: { readonly atOnce: number; readonly changed: () => void }) {
    this.#options = options;
  }

  /** Returns the known value and refreshes it with `ask`, if provided. `ask` throws on failure. */
  look(key: string, ask: ((signal: AbortSignal) => Promise<T>) | undefined): T | undefined {
    let look = this.#entries.get(key);
    if (ask === undefined) return look?.value;
    if (look === undefined) this.#entries.set(key, (look = { value: undefined, again: 0, asking: false }));
    if (!look.asking && Date.now() >= look.again && !this.#stop.signal.aborted) {
      look.asking = true;
      const entry = look;
      this.#waiting.push(() => this.#ask(entry, ask));
      this.#next();
    }
    return look.value;
  }

  dispose(): void {
    this.#waiting.length = 0;
    this.#stop.abort();
  }

  #next(): void {
    while (this.#running < this.#options.atOnce) {
      const begin = this.#waiting.shift();
      if (begin === undefined || this.#stop.signal.aborted) return;
      this.#running++;
      void begin().finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }

  async #ask(look: CacheEntry<T>, ask: (signal: AbortSignal) => Promise<T>): Promise<void> {
    const before = JSON.stringify(look.value);
    try {
      look.value = await ask(this.#stop.signal);
      look.again = Date.now() + FRESH_MS;
    } catch {
      // An unavailable endpoint is reported where it is used; here it only means that the value is unknown.
      look.value = undefined;
      look.again = Date.now() + FAILED_MS;
    }
    look.asking = false;
    if (JSON.stringify(look.value) !== before && !this.#stop.signal.aborted) this.#options.changed();
  }
}
