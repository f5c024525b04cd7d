/**
 * Counts the tokens of users and queues: those of the last minute at this server, and those of the last hour at all
 * servers of the store, which also has them after a restart. A server that crashes loses those of some seconds.
 */
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { Store } from '../../store/store.ts';
import type { TokenUse } from '../../store/usageStore.ts';
import type { Owner } from './settings.ts';

interface TokenUsageOptions {
  readonly store: Pick<Store, 'usage' | 'now'>;
  readonly log: Log;
  /** Called when the sums of the last hour were read. */
  readonly changed: () => void;
  /** Milliseconds; monotonic. */
  readonly now?: () => number;
}

const HOUR_MS = 60 * 60_000;
const MINUTE_MS = 60_000;
/** The last minute is counted in parts of this length. */
const PART_MS = 2_000;
const PARTS = MINUTE_MS / PART_MS;
const FLUSH_MS = 5_000;

/** Returns where the hour before a time begins, which is counted by whole minutes. */
function hourBefore(at: number): number {
  return at - HOUR_MS + MINUTE_MS;
}

interface Counted {
  readonly owner: Owner;
  /** Since they were last written to the store. */
  pending: number;
  /** Written, in the last hour, by all servers. */
  hour: number;
  readonly parts: Map<number, number>;
}

export class TokenUsage {
  readonly #options: TokenUsageOptions;
  readonly #now: () => number;
  readonly #owners = new Map<string, Counted>();
  #flushing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TokenUsageOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Reads what was used before, and then keeps it. */
  async start(): Promise<void> {
    await this.flush();
    this.#timer = setInterval(() => void this.flush(), FLUSH_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  add(owner: Owner, tokens: number): void {
    const counted = this.#of(owner);
    counted.pending += tokens;
    const part = Math.floor(this.#now() / PART_MS);
    counted.parts.set(part, (counted.parts.get(part) ?? 0) + tokens);
    for (const old of counted.parts.keys()) if (old <= part - PARTS) counted.parts.delete(old);
  }

  /** Returns the tokens of the last hour of all owners that match. */
  hour(matches: (owner: Owner) => boolean): number {
    return this.#sum(matches, ({ pending, hour }) => pending + hour);
  }

  /** Returns the tokens of the last minute of all owners that match. */
  minute(matches: (owner: Owner) => boolean): number {
    const first = Math.floor(this.#now() / PART_MS) - PARTS;
    return this.#sum(matches, ({ parts }) => {
      let sum = 0;
      for (const [part, tokens] of parts) if (part > first) sum += tokens;
      return sum;
    });
  }

  /**
   * Returns in how many ms the owners that match have used less than a limit in an hour, if they use nothing until
   * then.
   */
  async freeIn(matches: (owner: Owner) => boolean, limit: number): Promise<number> {
    const { store } = this.#options;
    const now = await store.now();
    const usedSince = async (minutes: number): Promise<number> => {
      const sums = await store.usage.tokensSince(hourBefore(now) + minutes * MINUTE_MS);
      return sums.reduce((sum, { queue, user, tokens }) => {
        return matches({ queue: queue === '' ? undefined : queue, user }) ? sum + tokens : sum;
      }, 0);
    };
    // What was used falls with each minute that is left out.
    let [least, most] = [1, HOUR_MS / MINUTE_MS];
    while (least < most) {
      const middle = Math.floor((least + most) / 2);
      if ((await usedSince(middle)) < limit) most = middle;
      else least = middle + 1;
    }
    return least * MINUTE_MS - (now % MINUTE_MS);
  }

  /** Returns everybody who used some. */
  owners(): Owner[] {
    return [...this.#owners.values()].filter(({ pending, hour }) => pending + hour > 0).map(({ owner }) => owner);
  }

  /** Writes what is new, and reads what all servers wrote. Never rejects: it is tried again. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flush()
      .catch((error: unknown) => this.#options.log(`counting tokens failed: ${errorText(error)}`, { level: 'warning' }))
      .finally(() => {
        this.#flushing = undefined;
      });
    return this.#flushing;
  }

  async #flush(): Promise<void> {
    const { store, changed } = this.#options;
    const at = await store.now();
    const written: { readonly counted: Counted; readonly use: TokenUse }[] = [];
    for (const counted of this.#owners.values())
      if (counted.pending > 0)
        written.push({
          counted,
          use: { at, queue: counted.owner.queue ?? '', user: counted.owner.user, tokens: counted.pending },
        });
    await store.usage.addTokens(written.map(({ use }) => use));
    for (const { counted, use } of written) {
      counted.pending -= use.tokens;
      counted.hour += use.tokens;
    }
    const sums = await store.usage.tokensSince(hourBefore(at));
    for (const counted of this.#owners.values()) counted.hour = 0;
    for (const { queue, user, tokens } of sums)
      this.#of({ queue: queue === '' ? undefined : queue, user }).hour = tokens;
    changed();
  }

  #of(owner: Owner): Counted {
    const key = JSON.stringify([owner.queue ?? '', owner.user]);
    let counted = this.#owners.get(key);
    if (counted === undefined) this.#owners.set(key, (counted = { owner, pending: 0, hour: 0, parts: new Map() }));
    return counted;
  }

  #sum(matches: (owner: Owner) => boolean, value: (counted: Counted) => number): number {
    let sum = 0;
    for (const counted of this.#owners.values()) if (matches(counted.owner)) sum += value(counted);
    return sum;
  }
}
