/**
 * Whether the store takes writes, as the newest ones showed. What it refuses cannot be recorded in it, so this is
 * told to the clients that are there.
 */
import { errorText, StudioError } from '../common/errors.ts';
import type { Log } from '../common/log.ts';

const WELL = 'The store takes writes again.';
const BACK = 'The store is back.';
/**
 * On a disk that is nearly full small writes pass between large ones that do not: only this long after the last refusal
 * it is well.
 */
const QUIET_MS = 3_000;

export class StoreHealth {
  readonly #log: Log;
  readonly #watchers = new Set<(text: string) => void>();
  #trouble: string | undefined;
  #refusedAt = 0;
  /** Of the whole database: nothing else is to be told until it is over. */
  #away = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Why the store takes no writes now; undefined: it does. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** A write failed; counts when it is the store that failed. */
  failed(error: unknown): void {
    if (StudioError.is(error, 'storage')) this.refused(errorText(error));
  }

  /** The store did not take a write, for this reason. */
  refused(why: string): void {
    this.#refusedAt = performance.now();
    if (this.#trouble === why || this.#away) return;
    this.#trouble = why;
    this.#tell(why);
  }

  /** The store's database cannot be reached, for this reason; undefined: it can be again. */
  outage(why: unknown): void {
    if (why !== undefined) this.refused(`Waiting for the store. ${errorText(why)}`);
    this.#away = why !== undefined;
    if (this.#away || this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.#tell(BACK);
  }

  /** A write was stored. */
  worked(): void {
    if (this.#trouble === undefined || this.#away || performance.now() - this.#refusedAt < QUIET_MS) return;
    this.#trouble = undefined;
    this.#tell(WELL);
  }

  /** `told` hears of each change, until what this gives is called. */
  watch(told: (text: string) => void): () => void {
    this.#watchers.add(told);
    return () => void this.#watchers.delete(told);
  }

  #tell(text: string): void {
    this.#log(text, { level: this.#trouble === undefined ? 'info' : 'error' });
    for (const told of this.#watchers) told(text);
  }
}
