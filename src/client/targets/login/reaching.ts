/** Checks of a connection: one for all who ask at once, and others before its session ends. */
import { abortable } from '../../../common/abort.ts';

/** A session is renewed when less than this is left of it. */
const RENEW_MS = 10 * 60_000;
const RETRY_MS = 30_000;

/** Whether a session that ends at a time need not be renewed yet. */
export function isFresh(until: number): boolean {
  return until > Date.now() + RENEW_MS;
}

export class Reaching {
  readonly #check: (signal: AbortSignal) => Promise<void>;
  readonly #end = new AbortController();
  #running: Promise<void> | undefined;
  #next: NodeJS.Timeout | undefined;

  /** `check` gets a session if there is none that is fresh, and asks the server. */
  constructor(check: (signal: AbortSignal) => Promise<void>) {
    this.#check = check;
  }

  /** Checks, or waits for the check that runs. `signal` ends only the wait. */
  reach(signal: AbortSignal = this.#end.signal): Promise<void> {
    this.#running ??= this.#check(this.#end.signal).finally(() => {
      this.#running = undefined;
    });
    return abortable(this.#running, signal);
  }

  /** Checks again shortly before a session ends that lasts for a time. */
  renew(ms: number): void {
    this.#checkIn(ms - RENEW_MS);
  }

  /** Checks again after an outage. */
  retry(): void {
    this.#checkIn(RETRY_MS);
  }

  close(): void {
    clearTimeout(this.#next);
    this.#end.abort();
  }

  #checkIn(ms: number): void {
    clearTimeout(this.#next);
    this.#next = setTimeout(() => void this.reach().catch(() => this.retry()), ms);
    this.#next.unref();
  }
}
