/**
 * How many calls one endpoint may have at once: additive increase, multiplicative decrease. Pure: told what happened
 * and when, asked how many.
 *
 * It doubles per round of calls until the endpoint first shows a limit, then grows by one per round, and only while
 * the limit is what holds calls back. An endpoint that refuses is left alone for a moment, then asked by one call at
 * a time until one gets through.
 */

export type EndpointState = 'ok' | 'busy' | 'down';

/** What an engine's metrics say. */
export interface EngineLoad {
  readonly running: number;
  readonly waiting: number;
  /** Share of the KV cache in use, 0 to 1. */
  readonly kvCache?: number;
  /** Counter. */
  readonly preemptions?: number;
}

export const START_PERMITS = 32;
export const MAX_PERMITS = 4096;

const REFUSED_FACTOR = 0.5;
const SATURATED_FACTOR = 0.85;
/** Refusals of calls sent together are one sign, not many. */
const SAME_SIGN_MS = 1_000;
const SAME_LOAD_MS = 5_000;
const FIRST_BACK_OFF_MS: Readonly<Record<'busy' | 'down', number>> = { busy: 250, down: 500 };
const MAX_BACK_OFF_MS = 15_000;
const FULL_CACHE = 0.95;
/** A short queue keeps an engine busy; a longer one only makes calls slow. */
const QUEUE_SHARE = 0.1;
const QUEUE_LEAST = 2;
/** Share of the limit in use from which on it counts as what holds calls back. */
const BINDING = 0.8;

export class EndpointLimit {
  #limit: number;
  #slowStart = true;
  #state: EndpointState = 'ok';
  #blockedUntil = -Infinity;
  /** Up to here the endpoint itself asked to be left alone. */
  #askedUntil = -Infinity;
  #backOff = 0;
  #decreasedAt = -Infinity;
  #loadDecreasedAt = -Infinity;
  #queues = 0;
  #saturated = false;
  #preemptions: number | undefined;

  constructor(start: number = START_PERMITS) {
    this.#limit = Math.min(Math.max(1, start), MAX_PERMITS);
  }

  get state(): EndpointState {
    return this.#state;
  }

  /** Somebody said how many calls he wants at once: the limit begins there, unless a sign said otherwise already. */
  atLeast(start: number): void {
    if (this.#slowStart) this.#limit = Math.min(Math.max(this.#limit, start), MAX_PERMITS);
  }

  permits(now: number): number {
    if (this.#state === 'ok') return Math.max(1, Math.floor(this.#limit));
    return now < this.#blockedUntil ? 0 : 1;
  }

  /** When `permits` changes by itself; undefined: it does not. */
  changesAt(now: number): number | undefined {
    return this.#state !== 'ok' && now < this.#blockedUntil ? this.#blockedUntil : undefined;
  }

  /** `count` calls ended well. `demand`: rollouts that could call now. */
  ok(now: number, demand: number, count = 1): void {
    if (this.#state !== 'ok') {
      if (now < this.#askedUntil) return; // a call from before the refusal
      this.#state = 'ok';
      this.#backOff = 0;
      return;
    }
    if (this.#saturated || demand < this.#limit * BINDING) return;
    this.#limit = Math.min(MAX_PERMITS, this.#limit + (this.#slowStart ? count : count / this.#limit));
  }

  /** A call was refused (429, 503), failed (5xx) or found nobody. */
  refused(what: 'busy' | 'down', now: number, retryAfterMs = 0): void {
    this.#slowStart = false;
    // A probe that fails says that it is still so, not that the endpoint takes even less once it is back.
    if (this.#state === 'ok' && now - this.#decreasedAt > SAME_SIGN_MS) {
      this.#limit = Math.max(1, this.#limit * REFUSED_FACTOR);
      this.#decreasedAt = now;
    }
    this.#askedUntil = Math.max(this.#askedUntil, now + retryAfterMs);
    if (this.#state === 'ok') this.#backOff = FIRST_BACK_OFF_MS[what];
    // the probe failed
    else if (now >= this.#blockedUntil) this.#backOff = Math.min(this.#backOff * 2, MAX_BACK_OFF_MS);
    this.#state = what;
    this.#blockedUntil = Math.max(this.#blockedUntil, this.#askedUntil, now + this.#backOff);
  }

  /** What its metrics say, every few seconds; undefined: they could not be had. */
  load(load: EngineLoad | undefined, now: number): void {
    if (load === undefined) {
      // Signs of an engine that may be gone by now: they neither hold the limit nor add up with those of the next one.
      this.#queues = 0;
      this.#saturated = false;
      this.#preemptions = undefined;
      return;
    }
    const preempted =
      this.#preemptions !== undefined && load.preemptions !== undefined && load.preemptions > this.#preemptions;
    this.#preemptions = load.preemptions;
    const queue = load.waiting > Math.max(QUEUE_LEAST, load.running * QUEUE_SHARE);
    this.#queues = queue ? this.#queues + 1 : 0;
    // One queue seen may be a burst; a second one in a row is not.
    const full = preempted || (load.kvCache ?? 0) >= FULL_CACHE;
    this.#saturated = queue || full;
    if (!(full || this.#queues >= 2) || now - this.#loadDecreasedAt < SAME_LOAD_MS) return;
    this.#loadDecreasedAt = now;
    this.#slowStart = false;
    this.#limit = Math.max(1, Math.min(this.#limit, load.running + load.waiting) * SATURATED_FACTOR);
  }
}
