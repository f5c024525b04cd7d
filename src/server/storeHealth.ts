/**
 * Tracks whether the store accepts writes. A failed write cannot be recorded in the store itself, so connected clients
 * are notified.
 */
import { errorText, StudioError } from '../common/errors.ts';
import type { Log } from '../common/log.ts';

const HEALTHY_TEXT = 'The store accepts writes again.';
const BACK = 'The store is available again.';
/**
 * On a nearly full disk, small writes succeed between large ones that fail. The store counts as healthy only this long
 * after the last failure.
 */
const QUIET_MS = 3_000;

export class StoreHealth {
  readonly #log: Log;
  readonly #watchers = new Set<(text: string) => void>();
  #trouble: string | undefined;
  #refusedAt = 0;
  /** Whether the whole database is unreachable. Nothing else is reported until it is back. */
  #unreachable = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Why the store does not accept writes now; undefined if it does. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Records a failed write, if the store caused it. */
  failed(error: unknown): void {
    if (StudioError.is(error, 'storage')) this.refused(errorText(error));
  }

  /** Records why the store rejected a write. */
  refused(why: string): void {
    this.#refusedAt = performance.now();
    if (this.#trouble === why || this.#unreachable) return;
    this.#trouble = why;
    this.#notify(why);
  }

  /** Records why the store's database is unreachable; undefined when it is reachable again. */
  outage(why: unknown): void {
    if (why !== undefined) this.refused(`Waiting for the store. ${errorText(why)}`);
    this.#unreachable = why !== undefined;
    if (this.#unreachable || this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.#notify(BACK);
  }

  /** Records a successful write. */
  succeeded(): void {
    if (this.#trouble === undefined || this.#unreachable || performance.now() - this.#refusedAt < QUIET_MS) return;
    this.#trouble = undefined;
    this.#notify(HEALTHY_TEXT);
  }

  /** Calls `listener` on each change. Returns the function that unsubscribes. */
  watch(listener: (text: string) => void): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  #notify(text: string): void {
    this.#log(text, { level: this.#trouble === undefined ? 'info' : 'error' });
    for (const listener of this.#watchers) listener(text);
  }
}
