import type { Store } from '../../store/store.ts';

/** Timers cannot be longer than 24 days. Deadlines that are further away are looked up again. */
const LONGEST_MS = 24 * 60 * 60 * 1_000;
const FAILED_MS = 1_000;

/** Ends groups at their deadlines. Every server of a store does; the first one to do it counts. */
export class GroupDeadlines {
  readonly #store: Pick<Store, 'expireGroups' | 'nextDeadline' | 'now'>;
  readonly #failed: (batch: string, error: unknown) => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #closed = false;

  constructor(
    store: Pick<Store, 'expireGroups' | 'nextDeadline' | 'now'>,
    failed: (batch: string, error: unknown) => void,
  ) {
    this.#store = store;
    this.#failed = failed;
  }

  /** Handles a change of a batch with groups. */
  async check(batch: string): Promise<void> {
    const next = await this.#store.nextDeadline(batch);
    if (next === undefined) this.remove(batch);
    else this.#set(batch, next - (await this.#store.now()));
  }

  remove(batch: string): void {
    clearTimeout(this.#timers.get(batch));
    this.#timers.delete(batch);
  }

  close(): void {
    this.#closed = true;
    for (const batch of this.#timers.keys()) this.remove(batch);
  }

  #set(batch: string, ms: number): void {
    if (this.#closed) return;
    clearTimeout(this.#timers.get(batch));
    const timer = setTimeout(() => this.#expire(batch), Math.min(Math.max(0, ms), LONGEST_MS));
    timer.unref();
    this.#timers.set(batch, timer);
  }

  #expire(batch: string): void {
    this.#store
      .expireGroups(batch)
      .then(() => this.check(batch))
      .catch((error: unknown) => {
        this.#failed(batch, error);
        this.#set(batch, FAILED_MS);
      });
  }
}
