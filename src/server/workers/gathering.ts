/** A batch of which nothing runs begins after no group was requested for so long, but not later than the second one. */
const GATHER_MS = { each: 20, most: 100 } as const;

interface Gathered {
  readonly since: number;
  readonly until: number;
  /** Set while lanes wait for it. */
  timer: NodeJS.Timeout | undefined;
}

/**
 * Groups that are requested at once. A trainer requests all groups of a step, and waits for them: beginning the first
 * ones at that moment would take the processors from the requests for the others.
 */
export class Gathering {
  readonly #over: (batch: string) => void;
  readonly #batches = new Map<string, Gathered>();

  /** `over` is called when the lanes of a batch have waited. */
  constructor(over: (batch: string) => void) {
    this.#over = over;
  }

  /** Handles a request for a group, before it is stored. */
  requested(batch: string): void {
    const now = performance.now();
    const before = this.#batches.get(batch);
    const isNew = before === undefined || (before.timer === undefined && before.until < now);
    const { since, timer } = isNew ? { since: now, timer: undefined } : before;
    this.#batches.set(batch, { since, until: Math.min(now + GATHER_MS.each, since + GATHER_MS.most), timer });
  }

  /** Whether lanes of a batch wait now. */
  isWaiting(batch: string): boolean {
    return this.#batches.get(batch)?.timer !== undefined;
  }

  /** Lets the lanes of a batch of which nothing runs wait for the rest of its groups, if there may be more. */
  wait(batch: string): boolean {
    const gathered = this.#batches.get(batch);
    if (gathered === undefined || gathered.until <= performance.now()) return false;
    gathered.timer ??= setTimeout(() => this.#look(batch), Math.max(1, gathered.until - performance.now()));
    return true;
  }

  forget(batch: string): void {
    clearTimeout(this.#batches.get(batch)?.timer);
    this.#batches.delete(batch);
  }

  close(): void {
    for (const batch of this.#batches.keys()) this.forget(batch);
  }

  #look(batch: string): void {
    const gathered = this.#batches.get(batch);
    if (gathered === undefined) return;
    gathered.timer = undefined;
    if (!this.wait(batch)) this.#over(batch);
  }
}
