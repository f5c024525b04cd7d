/**
 * Caches external values by key. Returns the known value at once and refreshes it in the background.
 */
const FRESH_MS = 5 * 60_000;
/** Retry delay after a failure. */
const FAILED_MS = 60_000;

interface CacheEntry<T> {
  value: T | undefined;
  refreshAt: number;
  isRefreshing: boolean;
}

export class RefreshingCache<T> {
  readonly #options: { readonly concurrency: number; readonly changed: () => void };
  readonly #entries = new Map<string, CacheEntry<T>>();
  readonly #queue: (() => Promise<void>)[] = [];
  readonly #stop = new AbortController();
  #running = 0;

  constructor(options: { readonly concurrency: number; readonly changed: () => void }) {
    this.#options = options;
  }

  /** Returns the known value and refreshes it with `load`, if provided. `load` throws on failure. */
  entry(key: string, load: ((signal: AbortSignal) => Promise<T>) | undefined): T | undefined {
    const known = this.#entries.get(key);
    if (load === undefined) return known?.value;
    const entry = known ?? { value: undefined, refreshAt: 0, isRefreshing: false };
    this.#entries.set(key, entry);
    if (!entry.isRefreshing && Date.now() >= entry.refreshAt && !this.#stop.signal.aborted) {
      entry.isRefreshing = true;
      this.#queue.push(() => this.#refresh(entry, load));
      this.#next();
    }
    return entry.value;
  }

  dispose(): void {
    this.#queue.length = 0;
    this.#stop.abort();
  }

  #next(): void {
    while (this.#running < this.#options.concurrency) {
      const refresh = this.#queue.shift();
      if (refresh === undefined || this.#stop.signal.aborted) return;
      this.#running++;
      void refresh().finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }

  async #refresh(entry: CacheEntry<T>, load: (signal: AbortSignal) => Promise<T>): Promise<void> {
    const previous = JSON.stringify(entry.value);
    try {
      entry.value = await load(this.#stop.signal);
      entry.refreshAt = Date.now() + FRESH_MS;
    } catch {
      // An unavailable endpoint is reported where it is used; here it only means that the value is unknown.
      entry.value = undefined;
      entry.refreshAt = Date.now() + FAILED_MS;
    }
    entry.isRefreshing = false;
    if (JSON.stringify(entry.value) !== previous && !this.#stop.signal.aborted) this.#options.changed();
  }
}
