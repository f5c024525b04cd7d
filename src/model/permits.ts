/**
 * Limits how many calls of this worker an endpoint gets at once. The server sets the limit (it knows all workers and
 * the endpoint's load). Changes between two beats of the server are detected here: after a failure, one call at a time
 * tries the endpoint, and more follow with each that succeeds. During a pause that a trainer announced, and
 * while the server gives an endpoint to others, no call starts.
 */
import { cancelled } from '../common/abort.ts';
import type { WaitReason } from '../trace/schema.ts';

/** Delay before the first probe after a failure; doubled after each failed probe. */
const FIRST_PROBE_MS = 100;
const LAST_PROBE_MS = 5_000;
/** What a worker runs of its part once its probe was answered. */
const FIRST_PART = 0.5;
/** A smaller part waits longer before its first probe. */
const SMALL_PART = 8;
/** With this many calls, an endpoint has recovered. */
const RECOVERED = 256;

/** The right to make one call. */
export interface Permit {
  readonly endpoint: string;
  /** Call this when the response begins: the endpoint accepted the request. */
  answered(): void;
  /** Call this when the call failed because of the endpoint. */
  failed(retryAfterMs?: number): void;
  /** Sets what ends the call if a pause aborts running calls. */
  onPause(abort: () => void): void;
  /** Whether a pause aborted the call. */
  readonly aborted: boolean;
  /** Call this once, at the end of the call. */
  release(): void;
}

interface EndpointState {
  /** The server's limit; 0 if it considers the endpoint down. */
  limit: number;
  /** The last limit above 0: the part of this worker in what all may call. */
  part: number;
  inUse: number;
  /** How many calls may run while the endpoint recovers; undefined if it is healthy. */
  ramp: number | undefined;
  /** Increased by each failure: the outcome of calls that began before it says nothing about the endpoint now. */
  epoch: number;
  /** Running calls that began in this epoch. */
  recovering: number;
  failures: number;
  /** No probe before this time. */
  notBefore: number;
  timer: NodeJS.Timeout | undefined;
  pause: PauseMode | undefined;
  /** Why others have the permits. */
  yields: WaitReason | undefined;
  /** Calls that a pause may abort. */
  readonly running: Set<RunningCall>;
}

/** How running calls end in a pause: by themselves, or aborted. */
export type PauseMode = 'wait' | 'abort';

interface RunningCall {
  abort: (() => void) | undefined;
  aborted: boolean;
}

interface Waiter {
  /** In order of affinity. Replicas may change while it waits. */
  readonly endpoints: () => readonly string[];
  readonly grant: (permit: Permit) => void;
}

interface PermitGateOptions {
  /** Monotonic, in ms. */
  readonly now?: () => number;
  /** 0 to 1, for the jitter. */
  readonly random?: () => number;
  /** Returns whether and how an endpoint is paused. It is asked again after `pausesChanged`. */
  readonly pauseOf?: (endpoint: string) => PauseMode | undefined;
  /** Called when a call to a paused endpoint has ended. */
  readonly onPausedCall?: () => void;
}

export class PermitGate {
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #pauseOf: (endpoint: string) => PauseMode | undefined;
  readonly #onPausedCall: () => void;
  readonly #states = new Map<string, EndpointState>();
  /** Running calls, also to endpoints whose state was forgotten. */
  readonly #calls = new Map<string, number>();
  readonly #pauseWatchers = new Set<() => void>();
  #running = 0;
  #peak = 0;
  /** First come, first served. */
  readonly #waiters = new Set<Waiter>();

  constructor(options: PermitGateOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
    this.#pauseOf = options.pauseOf ?? (() => undefined);
    this.#onPausedCall = options.onPausedCall ?? (() => undefined);
  }

  /** Running calls by endpoint, with those that it called before. */
  get calls(): ReadonlyMap<string, number> {
    return this.#calls;
  }

  /** Number of calls that wait for a permit. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Sets the server's limits for this worker. An endpoint without an entry has no limit. `waits`: why there are none,
   * for an endpoint that others may call.
   */
  setPermits(permits: Readonly<Record<string, number>>, waits: Readonly<Record<string, WaitReason>> = {}): void {
    const before = [...this.#states].map(([endpoint, { yields }]) => [endpoint, yields] as const);
    for (const [endpoint, limit] of Object.entries(permits)) {
      const state = this.#state(endpoint);
      state.limit = limit;
      if (limit > 0) state.part = limit;
      state.yields = limit === 0 ? waits[endpoint] : undefined;
    }
    // Before calls that wait get permits.
    if (before.some(([endpoint, yields]) => this.#states.get(endpoint)?.yields !== yields))
      for (const changed of [...this.#pauseWatchers]) changed();
    for (const [endpoint, limit] of Object.entries(permits)) {
      const state = this.#state(endpoint);
      if (state.yields !== undefined) continue;
      if (limit === 0 && state.ramp === undefined) {
        state.epoch++;
        state.ramp = 1;
        // Others have failed. All workers probe it, and the rate of their probes follows their parts.
        const wait = FIRST_PROBE_MS * Math.max(1, SMALL_PART / state.part) * (0.5 + this.#random());
        state.notBefore = Math.max(state.notBefore, this.#now() + wait);
      } else if (limit > 0 && state.ramp !== undefined && state.failures === 0 && state.ramp >= limit) {
        // It has responded here, and the server knows of no failure.
        this.#recovered(state);
      }
      this.#serve(endpoint, state);
    }
  }

  /** Applies the pauses that were announced: aborts calls where that is their mode, and lets waiting calls go on. */
  pausesChanged(): void {
    for (const [endpoint, state] of this.#states) {
      state.pause = this.#pauseOf(endpoint);
      if (state.pause !== 'abort') continue;
      for (const call of [...state.running]) {
        call.aborted = true;
        call.abort?.();
      }
    }
    for (const changed of [...this.#pauseWatchers]) changed();
    this.#serveAll();
  }

  /** Calls `changed` after each change of the pauses, or of what calls wait for. Returns a function that ends this. */
  watchPauses(changed: () => void): () => void {
    this.#pauseWatchers.add(changed);
    return () => {
      this.#pauseWatchers.delete(changed);
    };
  }

  /** Returns whether the endpoint is paused. */
  paused(endpoint: string): boolean {
    return this.#pauseOf(endpoint) !== undefined;
  }

  /** Returns why the server gives an endpoint to others. */
  yields(endpoint: string): WaitReason | undefined {
    return this.#states.get(endpoint)?.yields;
  }

  /** Returns the most calls at once that ran or waited since this was called last. */
  takePeak(): number {
    const peak = this.#peak;
    this.#peak = this.#current();
    return peak;
  }

  #current(): number {
    return this.#waiters.size + this.#running;
  }

  #notePeak(): void {
    this.#peak = Math.max(this.#peak, this.#current());
  }

  /** Returns whether the endpoint failed and has not recovered. */
  troubled(endpoint: string): boolean {
    return this.#states.get(endpoint)?.ramp !== undefined;
  }

  /**
   * Returns a permit for the first endpoint that can be called now. Endpoints are in order of affinity; if a healthy
   * one is at its limit, returns undefined to wait for it. Those that are paused, or others', are passed over.
   */
  tryAcquire(endpoints: readonly string[]): Permit | undefined {
    for (const endpoint of endpoints) {
      const state = this.#state(endpoint);
      if (this.#mayStart(state)) return this.#permit(endpoint, state);
      if (state.ramp === undefined && state.pause === undefined && state.yields === undefined) return undefined;
    }
    return undefined;
  }

  /** Forgets the state of endpoints that were removed. */
  forget(isRemoved: (endpoint: string) => boolean): void {
    for (const [endpoint, state] of this.#states) {
      if (!isRemoved(endpoint)) continue;
      clearTimeout(state.timer);
      this.#states.delete(endpoint);
    }
    this.#serveAll();
  }

  /** Waits for a permit. Rejects with `cancelled` when `signal` aborts. */
  acquire(endpoints: () => readonly string[], signal: AbortSignal): Promise<Permit> {
    if (signal.aborted) return Promise.reject(cancelled(signal));
    const now = this.tryAcquire(endpoints());
    if (now !== undefined) return Promise.resolve(now);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.delete(waiter);
        reject(cancelled(signal));
      };
      const waiter: Waiter = {
        endpoints,
        grant: (permit) => {
          signal.removeEventListener('abort', onAbort);
          resolve(permit);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      this.#notePeak();
      for (const endpoint of endpoints()) this.#arm(endpoint, this.#state(endpoint));
    });
  }

  /** Stops all timers. */
  close(): void {
    for (const state of this.#states.values()) clearTimeout(state.timer);
  }

  #state(endpoint: string): EndpointState {
    let state = this.#states.get(endpoint);
    if (state === undefined) {
      state = {
        limit: Infinity,
        part: Infinity,
        inUse: 0,
        ramp: undefined,
        epoch: 0,
        recovering: 0,
        failures: 0,
        notBefore: 0,
        timer: undefined,
        pause: this.#pauseOf(endpoint),
        yields: undefined,
        running: new Set(),
      };
      this.#states.set(endpoint, state);
    }
    return state;
  }

  #recovered(state: EndpointState): void {
    state.ramp = undefined;
    state.recovering = 0;
  }

  #mayStart(state: EndpointState): boolean {
    if (state.pause !== undefined || state.yields !== undefined) return false;
    if (state.ramp === undefined) return state.inUse < state.limit;
    return (
      state.recovering < state.ramp &&
      (state.limit === 0 || state.recovering < state.limit) &&
      this.#now() >= state.notBefore
    );
  }

  #permit(endpoint: string, state: EndpointState): Permit {
    const epoch = state.epoch;
    state.inUse++;
    this.#running++;
    this.#notePeak();
    if (state.ramp !== undefined) state.recovering++;
    const recovering = state.ramp !== undefined;
    let open = true;
    const call: RunningCall = { abort: undefined, aborted: false };
    state.running.add(call);
    this.#calls.set(endpoint, (this.#calls.get(endpoint) ?? 0) + 1);
    return {
      endpoint,
      onPause: (abort) => {
        call.abort = abort;
        if (call.aborted) abort();
      },
      get aborted() {
        return call.aborted;
      },
      answered: () => {
        if (epoch !== state.epoch || state.ramp === undefined) return;
        state.failures = 0;
        state.notBefore = 0;
        state.ramp = grown(state.ramp, state.part);
        if (state.limit !== 0 && state.ramp >= Math.min(state.limit, RECOVERED)) this.#recovered(state);
        this.#serve(endpoint, state);
      },
      failed: (retryAfterMs) => {
        const wait = Math.min(LAST_PROBE_MS, FIRST_PROBE_MS * 2 ** state.failures) * (0.5 + this.#random());
        // Many calls fail together; only the first failure is news.
        if (epoch === state.epoch) {
          state.epoch++;
          state.ramp = 1;
          state.recovering = 0;
          state.failures++;
          state.notBefore = this.#now() + Math.max(wait, retryAfterMs ?? 0);
        } else if (retryAfterMs !== undefined) {
          state.notBefore = Math.max(state.notBefore, this.#now() + retryAfterMs);
        }
        // Waiting calls may be able to use another endpoint.
        this.#serveAll();
      },
      release: () => {
        if (!open) return;
        open = false;
        state.inUse--;
        this.#running--;
        state.running.delete(call);
        this.#calls.set(endpoint, Math.max(0, (this.#calls.get(endpoint) ?? 0) - 1));
        if (this.paused(endpoint)) this.#onPausedCall();
        if (recovering && epoch === state.epoch && state.ramp !== undefined) state.recovering--;
        this.#serve(endpoint, state);
      },
    };
  }

  #serve(endpoint: string, state: EndpointState): void {
    // A replica was removed: a new one at its address starts from scratch.
    if (this.#states.get(endpoint) !== state) return;
    for (const waiter of this.#waiters) {
      if (!this.#mayStart(state)) break;
      if (!waiter.endpoints().includes(endpoint)) continue;
      this.#waiters.delete(waiter);
      waiter.grant(this.#permit(endpoint, state));
    }
    this.#arm(endpoint, state);
  }

  #serveAll(): void {
    for (const waiter of this.#waiters) {
      const permit = this.tryAcquire(waiter.endpoints());
      if (permit === undefined) continue;
      this.#waiters.delete(waiter);
      waiter.grant(permit);
    }
    for (const [endpoint, state] of this.#states) this.#arm(endpoint, state);
  }

  /** Starts a timer for the next probe, only while calls wait for it. */
  #arm(endpoint: string, state: EndpointState): void {
    clearTimeout(state.timer);
    state.timer = undefined;
    if (this.#waiters.size === 0 || state.ramp === undefined) return;
    const wait = state.notBefore - this.#now();
    if (wait <= 0) return;
    state.timer = setTimeout(() => {
      state.timer = undefined;
      this.#serve(endpoint, state);
    }, Math.ceil(wait));
  }
}

/**
 * Returns how many calls may run after another answer. Workers that recover together keep their proportions: each runs
 * the same fraction of its part, and then as many more as are answered. What nobody divides doubles with each answer.
 */
function grown(ramp: number, part: number): number {
  return part === Infinity ? ramp * 2 : Math.max(ramp + 1, Math.ceil(part * FIRST_PART));
}
