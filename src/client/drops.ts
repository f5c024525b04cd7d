/** Counts how often a connection was lost lately. Whatever follows streams continues by itself; this is for people. */

/** Fewer are normal: a laptop wakes up, a server is upgraded. */
const MIN_DROPS = 3;
const WINDOW_MS = 60_000;

export class Drops {
  #times: number[] = [];
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  add(): void {
    this.#times = [...this.#recent(), this.#now()];
  }

  /** How often the connection was lost in the last minute. */
  get count(): number {
    return this.#recent().length;
  }

  /** Returns a text for people, or undefined if the connection is stable. */
  get text(): string | undefined {
    const { count } = this;
    return count < MIN_DROPS ? undefined : `Unstable connection: ${count} drops in the last minute`;
  }

  #recent(): number[] {
    const since = this.#now() - WINDOW_MS;
    return this.#times.filter((time) => time > since);
  }
}
