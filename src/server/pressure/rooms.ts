/** How many rollouts of each batch may run, judging by the limits of the endpoints that they call. */
import type { WaitReason } from '../../trace/schema.ts';
import { type Claim, divide } from '../shares/divide.ts';
import type { EndpointWait } from '../shares/waiting.ts';
import { type EndpointLimit, START_PERMITS } from './limit.ts';
import type { BatchShare, Caller } from './options.ts';

/** With `concurrency: auto`, rollouts per permit: about half of a rollout's time is tools. */
const ROLLOUTS_PER_PERMIT = 2;
/** Shares are fractions, whose sums are not exact. */
const ROUNDING = 1e-6;

export interface RoomEndpoint {
  readonly limit: EndpointLimit;
  readonly batches: ReadonlySet<string>;
  /** Why sessions that could call it had no permits, when they were last divided, by batch. */
  readonly waits: ReadonlyMap<string, WaitReason>;
}

interface RolloutRoomsOptions {
  readonly endpoint: (name: string) => RoomEndpoint | undefined;
  /** Returns the number of endpoints over which the rollouts of a batch are spread. */
  readonly spread: (batch: string) => number;
  readonly callers: () => readonly Caller[];
  readonly shareOf: (batch: string) => BatchShare;
  readonly claims: () => ReadonlyMap<string, Claim> | undefined;
  readonly now: () => number;
}

export class RolloutRooms {
  readonly #options: RolloutRoomsOptions;

  constructor(options: RolloutRoomsOptions) {
    this.#options = options;
  }

  /**
   * Returns how many more rollouts of a batch may start at endpoints, which it shares with other batches by priority
   * and weight.
   */
  room(batch: string, endpoints: ReadonlySet<string>): number {
    const { endpoint: find, spread, shareOf } = this.#options;
    const now = this.#options.now();
    const running = this.#running();
    const claims = this.#options.claims();
    const claim = claims?.get(batch);
    const runs = (of: string): number => (running.get(of) ?? 0) / spread(of);
    let room = 0;
    for (const name of endpoints) {
      const endpoint = find(name);
      const rollouts = (endpoint?.limit.permits(now) ?? START_PERMITS) * ROLLOUTS_PER_PERMIT;
      const others = [...(endpoint?.batches ?? [])].filter((other) => other !== batch);
      if (claim === undefined) {
        room += rollouts - others.reduce((sum, other) => sum + runs(other), runs(batch));
        continue;
      }
      const all = [batch, ...others].map((each) => ({
        ...(claims?.get(each) ?? shareOf(each)),
        demand: Math.max(running.get(each) ?? 0, claims?.get(each)?.demand ?? 0) / spread(each),
      }));
      room += (divide(rollouts, all)[0] ?? 0) - runs(batch);
    }
    // One rollout has to find out whether an endpoint is available again.
    const idle = (running.get(batch) ?? 0) === 0;
    return Math.max(Math.floor(room + ROUNDING), idle ? 1 : 0);
  }

  /** Returns why a batch gets no permits, or no further rollouts. */
  waitOf(batch: string, endpoints: ReadonlySet<string>): EndpointWait | undefined {
    const { endpoint: find, shareOf } = this.#options;
    const now = this.#options.now();
    const used = [...endpoints].flatMap((name) => find(name) ?? []);
    if (used.length === 0) return undefined;
    if (used.every(({ limit }) => limit.state !== 'ok')) return 'endpoint';
    for (const { waits } of used) {
      const reason = waits.get(batch);
      if (reason === 'priority' || reason === 'share') return reason;
    }
    const running = this.#running();
    const all = [...new Set(used.flatMap(({ batches }) => [...batches]))].filter(
      (each) => (running.get(each) ?? 0) > 0,
    );
    const rollouts = used.reduce((sum, { limit }) => sum + limit.permits(now), 0) * ROLLOUTS_PER_PERMIT;
    if (all.reduce((sum, each) => sum + (running.get(each) ?? 0), 0) < rollouts) return undefined;
    const own = shareOf(batch);
    const others = all.filter((each) => each !== batch).map(shareOf);
    if (others.some(({ priority }) => priority > own.priority)) return 'priority';
    return others.some(({ user, queue }) => user !== own.user || queue !== own.queue) ? 'share' : 'endpoint';
  }

  #running(): Map<string, number> {
    const running = new Map<string, number>();
    for (const caller of this.#options.callers())
      running.set(caller.batch, (running.get(caller.batch) ?? 0) + caller.running);
    return running;
  }
}
