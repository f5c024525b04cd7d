/**
 * Limits the concurrent calls of one endpoint with additive increase and multiplicative decrease. Pure: the caller
 * passes in events and times.
 *
 * It doubles per round of calls until the endpoint first shows a limit, then grows by one per round, and only while
 * the limit is what holds calls back. After a refusal it pauses, then probes with one call at a time until one
 * succeeds.
 */

type EndpointState = 'ok' | 'busy' | 'down';

/** The load of an engine, from its metrics. */
export interface EngineLoad {
  readonly running: number;
  readonly waiting: number;
  /** Share of the KV cache in use, 0 to 1. */
  readonly kvCache?: number;
  /** Counter. */
  readonly preemptions?: number;
}

export const START_PERMITS = 32;
const MAX_PERMITS = 4096;

const REFUSED_FACTOR = 0.5;
const SATURATED_FACTOR = 0.85;
/** Refusals of calls sent together count once. */
const SAME_SIGN_MS = 1_000;
const SAME_LOAD_MS = 5_000;
const FIRST_BACK_OFF_MS: Readonly<Record<'busy' | 'down', number>> = { busy: 250, down: 500 };
const MAX_BACK_OFF_MS = 15_000;
const FULL_CACHE = 0.95;
/** A short queue keeps an engine busy; a longer one only slows down calls. */
const QUEUE_SHARE = 0.1;
const MIN_QUEUE = 2;
/** From this share of use on, the limit counts as what holds calls back. */
export const BINDING = 0.8;

export class EndpointLimit {
  #limit: number;
  #slowStart = true;
  #state: EndpointState = 'ok';
  #blockedUntil = -Infinity;
  /** Until when the endpoint wants no calls (Retry-After). */
  #retryAfter = -Infinity;
  #backOff = 0;
  #decreasedAt = -Infinity;
  #loadDecreasedAt = -Infinity;
  #queues = 0;
  #slots: number | undefined;
  #waited = false;
  #saturated = false;
  #preemptions: number | undefined;

  constructor(start: number = START_PERMITS) {
    this.#limit = Math.min(Math.max(1, start), MAX_PERMITS);
  }

  get state(): EndpointState {
    return this.#state;
  }

  /** Whether the endpoint has shown how many calls it takes. */
  get isShown(): boolean {
    return !this.#slowStart;
  }

  /** The calls that the engine runs at once when others wait for it; undefined until they do. */
  get slots(): number | undefined {
    return this.#slots;
  }

  /** Starts the limit at the concurrency a batch asks for, unless the endpoint has already shown its limit. */
  atLeast(start: number): void {
    if (this.#slowStart) this.#limit = Math.min(Math.max(this.#limit, start), MAX_PERMITS);
  }

  permits(now: number): number {
    if (this.#state === 'ok') return Math.max(1, Math.floor(this.#limit));
    return now < this.#blockedUntil ? 0 : 1;
  }

  /** Returns when `permits` changes over time; undefined if it does not. */
  changesAt(now: number): number | undefined {
    return this.#state !== 'ok' && now < this.#blockedUntil ? this.#blockedUntil : undefined;
  }

  /** Records `count` successful calls. `demand`: rollouts that could call now. */
  ok(now: number, demand: number, count = 1): void {
    if (this.#state !== 'ok') {
      if (now < this.#retryAfter) return; // the call started before the refusal
      this.#state = 'ok';
      this.#backOff = 0;
      return;
    }
    if (this.#saturated || demand < this.#limit * BINDING) return;
    this.#limit = Math.min(MAX_PERMITS, this.#limit + (this.#slowStart ? count : count / this.#limit));
  }

  /** Records a call that was refused (429, 503), failed (5xx), or could not connect. */
  refused(what: 'busy' | 'down', now: number, retryAfterMs = 0): void {
    this.#slowStart = false;
    // A failed probe means that the endpoint is still down, not that it can take even less once it is back.
    if (this.#state === 'ok' && now - this.#decreasedAt > SAME_SIGN_MS) {
      this.#limit = Math.max(1, this.#limit * REFUSED_FACTOR);
      this.#decreasedAt = now;
    }
    this.#retryAfter = Math.max(this.#retryAfter, now + retryAfterMs);
    if (this.#state === 'ok') this.#backOff = FIRST_BACK_OFF_MS[what];
    // the probe failed
    else if (now >= this.#blockedUntil) this.#backOff = Math.min(this.#backOff * 2, MAX_BACK_OFF_MS);
    this.#state = what;
    this.#blockedUntil = Math.max(this.#blockedUntil, this.#retryAfter, now + this.#backOff);
  }

  /** Records the load from its metrics, every few seconds; undefined if they could not be read. */
  load(load: EngineLoad | undefined, now: number): void {
    if (load === undefined) {
      // The engine may have been replaced, so its earlier load must not affect the limit of the next one.
      this.#queues = 0;
      this.#waited = false;
      this.#saturated = false;
      this.#preemptions = undefined;
      return;
    }
    const preempted =
      this.#preemptions !== undefined && load.preemptions !== undefined && load.preemptions > this.#preemptions;
    this.#preemptions = load.preemptions;
    const full = preempted || (load.kvCache ?? 0) >= FULL_CACHE;
    const waits = load.waiting > MIN_QUEUE;
    // One queue may be a burst; two in a row are not.
    if (full || (waits && this.#waited)) this.#slots = Math.max(1, load.running);
    else if (this.#slots !== undefined && load.running > this.#slots)
      // Far more run now: what waited was a burst of prompts, not calls without a slot.
      this.#slots = load.running * BINDING > this.#slots ? undefined : load.running;
    this.#waited = waits;
    const queue = waits && load.waiting > load.running * QUEUE_SHARE;
    this.#queues = queue ? this.#queues + 1 : 0;
    this.#saturated = queue || full;
    if (!(full || this.#queues >= 2) || now - this.#loadDecreasedAt < SAME_LOAD_MS) return;
    this.#loadDecreasedAt = now;
    this.#slowStart = false;
    this.#limit = Math.max(1, Math.min(this.#limit, load.running + load.waiting) * SATURATED_FACTOR);
  }
}
