/** Ends a server that had no client and no work for its whole idle time. */

interface IdleOptions {
  readonly idleMs: number;
  /** Whether anything is queued, running or held. */
  readonly busy: () => Promise<boolean>;
  readonly end: () => void;
  readonly failed: (error: unknown) => void;
}

/** Polls of the store per idle time while no client is connected. */
const MAX_POLLS = 12;
const MAX_POLL_MS = 5_000;

export class Idle {
  readonly #options: IdleOptions;
  #clients = 0;
  #quietSince = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #until = -Infinity;

  constructor(options: IdleOptions) {
    this.#options = options;
    this.#arm();
  }

  /** Registers a client. Returns the function to call when it disconnects. */
  enter(): () => void {
    this.#clients += 1;
    let disconnected = false;
    return () => {
      if (disconnected) return;
      disconnected = true;
      this.#clients -= 1;
      this.#quietSince = performance.now();
    };
  }

  /** Keeps the server for some time, whoever is connected. */
  keep(ms: number): void {
    this.#until = performance.now() + ms;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #arm(): void {
    if (this.#closed || this.#options.idleMs === 0) return;
    this.#timer = setTimeout(
      () => {
        this.#check()
          .catch(this.#options.failed)
          .finally(() => this.#arm());
      },
      Math.min(this.#options.idleMs / MAX_POLLS, MAX_POLL_MS),
    );
    this.#timer.unref();
  }

  async #check(): Promise<void> {
    if (this.#clients > 0 || performance.now() < this.#until) return;
    if (await this.#options.busy()) {
      this.#quietSince = performance.now();
      return;
    }
    if (this.#clients === 0 && performance.now() - this.#quietSince >= this.#options.idleMs) {
      this.close();
      this.#options.end();
    }
  }
}
