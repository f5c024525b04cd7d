/** Number of automatic restarts before asking the user. */
const MAX_RESTARTS = 3;
const WINDOW_MS = 3 * 60_000;

export class Restarts {
  #exits: number[] = [];

  /** Records an exit. Returns whether the server can be restarted automatically. */
  recordExit(now: number): boolean {
    this.#exits = [...this.#exits.filter((at) => now - at < WINDOW_MS), now];
    return this.#exits.length <= MAX_RESTARTS;
  }

  /** Resets the count after a restart by the user. */
  reset(): void {
    this.#exits = [];
  }
}
