/**
 * Runs `work` soon after each call of `request`, never concurrently and at most every `everyMs`. Requests during a run
 * result in one more run. Failures of `work` are passed to `failed`.
 */
export class Throttle {
  readonly #work: () => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #everyMs: number;
  #running = false;
  #requested: 'no' | 'soon' | 'now' = 'no';
  #last = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(everyMs: number, work: () => Promise<void>, failed: (error: unknown) => void) {
    this.#everyMs = everyMs;
    this.#work = work;
    this.#failed = failed;
  }

  /** Requests a run. `now`: without waiting for the interval to pass. */
  request(now = false): void {
    if (this.#closed) return;
    if (now || this.#requested === 'no') this.#requested = now ? 'now' : 'soon';
    if (this.#running) return;
    const wait = this.#requested === 'now' ? 0 : this.#last + this.#everyMs - performance.now();
    if (wait > 0) {
      this.#timer ??= setTimeout(() => this.#run(), wait);
      return;
    }
    this.#run();
  }

  /** Whether nothing is running or requested. */
  get idle(): boolean {
    return !this.#running && this.#requested === 'no';
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #run(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running = true;
    this.#requested = 'no';
    this.#last = performance.now();
    void this.#work()
      .catch(this.#failed)
      .finally(() => {
        this.#running = false;
        const pending = this.#pendingRequest();
        if (pending !== 'no') this.request(pending === 'now');
      });
  }

  #pendingRequest(): 'no' | 'soon' | 'now' {
    return this.#requested;
  }
}
