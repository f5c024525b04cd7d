import type { Clock } from '../../rollout/ports.ts';

/** Frames that count. */
const KEPT = 12;
/** A clock that is further off is worth a word. */
const SKEW_MS = 2_000;

/**
 * The server's clock: what its frames say, and monotonic time since, so that this machine's own clock has no part in
 * it. Each frame is heard a little after the server looked at its clock; the least late of the last ones counts. Never
 * goes back, also not when the server says less.
 */
export class ServerClock implements Clock {
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  /** By each frame, how far the server's clock is ahead of monotonic time at least. */
  #offsets: number[];
  /** How far it is ahead at most. */
  #maxOffset = Infinity;
  #last = 0;
  #reported = false;

  constructor(wall: () => number = () => Date.now(), monotonic: () => number = () => performance.now()) {
    this.#wall = wall;
    this.#monotonic = monotonic;
    this.#offsets = [wall() - monotonic()];
  }

  /**
   * A new connection: what was heard on the one before may have been another machine's. `clock`: what the server said
   * just now, `tripMs` at most ago.
   */
  welcome(clock: number, tripMs: number): void {
    const offset = clock - this.#monotonic();
    this.#offsets = [offset];
    this.#maxOffset = offset + tripMs;
  }

  beat(clock: number): void {
    this.#offsets.push(clock - this.#monotonic());
    if (this.#offsets.length > KEPT) this.#offsets.shift();
  }

  now(): number {
    const now = Math.floor(Math.max(...this.#offsets) + this.#monotonic());
    if (now > this.#last) this.#last = now;
    return this.#last;
  }

  /** How far this machine's own clock is ahead of the server's (negative: behind), once, where it is surely too far. */
  skew(): number | undefined {
    const own = this.#wall() - this.#monotonic();
    const ahead = own - Math.max(...this.#offsets);
    if (this.#reported || (ahead > -SKEW_MS && own - this.#maxOffset < SKEW_MS)) return undefined;
    this.#reported = true;
    return Math.round(ahead);
  }
}
