/** The forks of a rollout: batches with one task that continue from one of its events. */
import type { Api } from '../../src/protocol/api.ts';
import type { BatchRow } from '../../src/protocol/client.ts';

/** Batches per read. They are read newest first, down to the age of the rollout: its forks are younger. */
const PAGE = 100;
const MAX_PAGES = 20;
const REFRESH_MS = 5_000;

export interface ForkRow extends BatchRow {
  readonly parent: NonNullable<BatchRow['parent']>;
}

export class Forks {
  /** Ordered by cut, then oldest first. */
  all: readonly ForkRow[] = [];
  readonly #api: Api;
  readonly #rollout: string;
  readonly #changed: () => void;
  readonly #signal: AbortSignal;
  #since: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(api: Api, rollout: string, changed: () => void, signal: AbortSignal) {
    this.#api = api;
    this.#rollout = rollout;
    this.#changed = changed;
    this.#signal = signal;
    signal.addEventListener('abort', () => clearTimeout(this.#timer), { once: true });
  }

  /** Reads the forks. `since`: creation time of the rollout's batch. */
  async load(since: number): Promise<void> {
    this.#since = since;
    await this.#read();
  }

  /** Reads again, e.g. after a fork was created. */
  refresh(): void {
    if (this.#since !== undefined) this.#read().catch(() => undefined); // the page reports a lost server
  }

  /** Returns the forks that were cut at an event. */
  at(cut: number): readonly ForkRow[] {
    return this.all.filter(({ parent }) => parent.seq === cut);
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer);
    const forks: ForkRow[] = [];
    let before: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const { batches, next } = await this.#api.batches(
        { limit: PAGE, ...(before === undefined ? {} : { before }) },
        this.#signal,
      );
      for (const row of batches) if (row.parent?.rollout === this.#rollout) forks.push({ ...row, parent: row.parent });
      const oldest = batches.at(-1)?.created_at ?? 0;
      if (next === undefined || oldest < (this.#since ?? 0)) break;
      before = next;
    }
    this.all = forks.sort((a, b) => a.parent.seq - b.parent.seq || a.created_at - b.created_at);
    this.#changed();
    if (this.all.some(({ state }) => state !== 'ended') && !this.#signal.aborted)
      this.#timer = setTimeout(() => this.refresh(), REFRESH_MS);
  }
}
