import type { Clock } from '../../rollout/ports.ts';

/** Number of frames that are considered. */
const MAX_OFFSETS = 12;
/** A larger difference is reported. */
const SKEW_MS = 2_000;

/**
 * The server's clock, computed from its frames and the monotonic time since then, so that this machine's wall clock has
 * no influence. Each frame arrives a little after the server read its clock; the least delayed of the latest frames
 * counts. Never decreases, even if the server's clock does.
 */
export class ServerClock implements Clock {
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  /** For each frame: how far the server's clock is ahead of monotonic time, at least. */
  #offsets: number[];
  /** How far it is ahead, at most. */
  #maxOffset = Infinity;
  #last = 0;
  #reported = false;

  constructor(wall: () => number = () => Date.now(), monotonic: () => number = () => performance.now()) {
    this.#wall = wall;
    this.#monotonic = monotonic;
    this.#offsets = [wall() - monotonic()];
  }

  /**
   * Starts over for a new connection, because the previous one may have been to another machine. `clock`: the time of
   * the server, at most `tripMs` ago.
   */
  welcome(clock: number, tripMs: number): void {
    const offset = clock - this.#monotonic();
    this.#offsets = [offset];
    this.#maxOffset = offset + tripMs;
  }

  beat(clock: number): void {
    this.#offsets.push(clock - this.#monotonic());
    if (this.#offsets.length > MAX_OFFSETS) this.#offsets.shift();
  }

  now(): number {
    const now = Math.floor(Math.max(...this.#offsets) + this.#monotonic());
    if (now > this.#last) this.#last = now;
    return this.#last;
  }

  /**
   * Returns, once, how far this machine's clock is ahead of the server's (negative: behind), if the difference is
   * certainly too large.
   */
  skew(): number | undefined {
    const machineOffset = this.#wall() - this.#monotonic();
    const ahead = machineOffset - Math.max(...this.#offsets);
    if (this.#reported || (ahead > -SKEW_MS && machineOffset - this.#maxOffset < SKEW_MS)) return undefined;
    this.#reported = true;
    return Math.round(ahead);
  }
}
