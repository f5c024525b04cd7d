/** How often a server that ends by itself is started again before somebody is asked. */
const MOST = 3;
const WITHIN_MS = 3 * 60_000;

export class Restarts {
  #ends: number[] = [];

  /** It has ended: whether it may be started once more. */
  ended(now: number): boolean {
    this.#ends = [...this.#ends.filter((at) => now - at < WITHIN_MS), now];
    return this.#ends.length <= MOST;
  }

  /** Somebody asked for it: what was is forgotten. */
  forget(): void {
    this.#ends = [];
  }
}
