/** Number of automatic restarts before asking the user. */
const MAX_RESTARTS = 3;
const WITHIN_MS = 3 * 60_000;

export class Restarts {
  #ends: number[] = [];

  /** Records an exit. Returns whether the server can be restarted automatically. */
  ended(now: number): boolean {
    this.#ends = [...this.#ends.filter((at) => now - at < WITHIN_MS), now];
    return this.#ends.length <= MAX_RESTARTS;
  }

  /** Resets the count after a restart by the user. */
  forget(): void {
    this.#ends = [];
  }
}
