/**
 * Looks at things outside, each by its key: what is known is told at once, a look in the background brings it up to
 * date.
 */
const FRESH_MS = 5 * 60_000;
/** Who did not answer is not asked at every keystroke. */
const FAILED_MS = 60_000;

interface CacheEntry<T> {
  value: T | undefined;
  again: number;
  asking: boolean;
}

export class RefreshingCache<T> {
  readonly #options: { readonly atOnce: number; readonly changed: () => void };
  readonly #known = new Map<string, CacheEntry<T>>();
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #stop = new AbortController();
  #running = 0;

  constructor(options: { readonly atOnce: number; readonly changed: () => void }) {
    this.#options = options;
  }

  /** What is known by now. `ask` throws when there is no answer; without it nothing is asked. */
  look(key: string, ask: ((signal: AbortSignal) => Promise<T>) | undefined): T | undefined {
    let look = this.#known.get(key);
    if (ask === undefined) return look?.value;
    if (look === undefined) this.#known.set(key, (look = { value: undefined, again: 0, asking: false }));
    if (!look.asking && Date.now() >= look.again && !this.#stop.signal.aborted) {
      look.asking = true;
      const wanted = look;
      this.#waiting.push(() => this.#ask(wanted, ask));
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
      // Whether an endpoint or a server is there is told where it is needed; here it only means that nothing is known.
      look.value = undefined;
      look.again = Date.now() + FAILED_MS;
    }
    look.asking = false;
    if (JSON.stringify(look.value) !== before && !this.#stop.signal.aborted) this.#options.changed();
  }
}
