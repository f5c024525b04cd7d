/**
 * Whose share each batch uses, and how much more it may run: the weights and limits of users and queues, applied to the
 * batches that have not ended. All of it follows from the store and from the connected workers, so a restart loses
 * nothing.
 */
import type { Submission } from '../../config/submission.ts';
import type { BatchRecord } from '../../store/store.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import type { BatchShare, Caller } from '../pressure/options.ts';
import { type Capped, roomUnder } from './caps.ts';
import type { Claim } from './divide.ts';
import type { Owner, ShareSettings } from './settings.ts';
import type { TokenUsage } from './tokenUsage.ts';

export interface TrackedShare {
  readonly record: BatchRecord;
  readonly submission: Submission;
  readonly owner: Owner;
}

interface SharesOptions {
  readonly settings: ShareSettings;
  readonly usage: TokenUsage;
  readonly callers: () => readonly Caller[];
  /** Returns how many rollouts the workers of a batch wait for. */
  readonly requested: (batch: string) => number;
  /** Called when batches that wait may get something. */
  readonly freed: () => void;
  /** Called when permits must be divided again. */
  readonly changed: () => void;
}

type Limit = 'rollouts' | 'pods' | 'tokens_per_hour';

/** A limit that a batch is under, and which batches are under it together. */
interface Constraint {
  readonly limit: number;
  readonly kind: 'user' | 'queue';
  readonly name: string;
  readonly batches: readonly TrackedShare[];
}

const MAX_ENDED = 1_000;

const UNTRACKED: BatchShare = {
  priority: 0,
  queue: undefined,
  queueWeight: 1,
  user: '',
  userWeight: 1,
  blocked: false,
};

export class Shares {
  readonly settings: ShareSettings;
  readonly usage: TokenUsage;
  readonly #options: SharesOptions;
  readonly #tracked = new Map<string, TrackedShare>();
  /** Owners of the last batches that ended, whose pods may still be leaving. */
  readonly #ended = new Map<string, Owner>();
  /** Rollouts that are being leased. */
  readonly #leasing = new Map<string, number>();
  #blocked = '';

  constructor(options: SharesOptions) {
    this.settings = options.settings;
    this.usage = options.usage;
    this.#options = options;
  }

  /** The batches that have not ended. */
  get tracked(): ReadonlyMap<string, TrackedShare> {
    return this.#tracked;
  }

  /** Handles the state of a batch that has not ended. */
  update(record: BatchRecord, submission: Submission): void {
    const { batch } = record.row;
    this.#tracked.set(batch, { record, submission, owner: this.ownerOf(record) });
  }

  remove(batch: string): void {
    const tracked = this.#tracked.get(batch);
    if (tracked === undefined) return;
    this.#tracked.delete(batch);
    this.#ended.set(batch, tracked.owner);
    const [oldest] = this.#ended.keys();
    if (oldest !== undefined && this.#ended.size > MAX_ENDED) this.#ended.delete(oldest);
    if (this.#tracked.size === 0) return;
    this.#options.changed();
    this.#options.freed();
  }

  ownerOf({ spec }: Pick<BatchRecord, 'spec'>): Owner {
    return { queue: this.settings.queueOf(spec.queue), user: spec.by ?? '' };
  }

  /** Counts the tokens of a stored event. Calls whose replies are recorded used none. */
  followed(batch: string, event: TraceEvent): void {
    if (event.kind !== 'model.end' || event.data.source !== 'live' || event.data.usage === undefined) return;
    const tracked = this.#tracked.get(batch);
    const { input_tokens: input, output_tokens: output } = event.data.usage;
    if (tracked !== undefined) this.usage.add(tracked.owner, input + output);
  }

  /** Handles the end of a rollout: other batches may start one. */
  ended(): void {
    if (this.#tracked.size > 1) this.#options.freed();
  }

  /** Handles that a worker got rollouts: it may need the permits of others now. */
  granted(): void {
    if (this.#tracked.size > 1) this.#options.changed();
  }

  /** Handles that the tokens of the last hour may have changed. */
  tokensChanged(): void {
    const blocked = JSON.stringify(
      [...this.#tracked].filter(([, { owner }]) => this.overTokens(owner)).map(([id]) => id),
    );
    if (blocked === this.#blocked) return;
    this.#blocked = blocked;
    this.#options.changed();
    this.#options.freed();
  }

  /** Returns how permits are divided to a batch. */
  shareOf(batch: string): BatchShare {
    const tracked = this.#tracked.get(batch);
    if (tracked === undefined) return UNTRACKED;
    const { owner, record } = tracked;
    return {
      priority: record.spec.priority,
      queue: owner.queue,
      queueWeight: this.settings.queue(owner.queue).weight ?? 1,
      user: owner.user,
      userWeight: this.settings.user(owner.user).weight ?? 1,
      blocked: this.overTokens(owner) !== undefined,
    };
  }

  /** Returns all batches, with the rollouts that they have and that their workers wait for. */
  claims(): ReadonlyMap<string, Claim> {
    const running = this.#running();
    return new Map([...this.#tracked].map(([batch, tracked]) => [batch, this.#claim(tracked, running)]));
  }

  /** Returns how many more rollouts a batch may start under the limits of its user and queue. */
  room(record: BatchRecord): number {
    const tracked = this.#tracked.get(record.row.batch);
    if (tracked === undefined) return Infinity;
    this.#tracked.set(record.row.batch, { ...tracked, record });
    if (this.overTokens(tracked.owner) !== undefined) return 0;
    const constraints = this.#constraints(tracked.owner, 'rollouts');
    if (constraints.length === 0) return Infinity;
    const running = this.#running();
    const capped = ({ batches }: Constraint): Capped[] =>
      batches.map((each) => ({
        ...this.#claim(each, running),
        batch: each.record.row.batch,
        has: running.get(each.record.row.batch) ?? 0,
      }));
    return Math.min(...constraints.map((each) => roomUnder(each.limit, capped(each), record.row.batch)));
  }

  /** Notes that rollouts are being leased to a batch. Returns a function to call when that is done. */
  lease(batch: string, count: number): () => void {
    const add = (some: number): void => {
      this.#leasing.set(batch, (this.#leasing.get(batch) ?? 0) + some);
    };
    add(count);
    return () => add(-count);
  }

  /**
   * Returns how many pods a batch may have in all, which is no less than it has. `pods`: those that batches have, and
   * could have. Those of batches that have ended count until they are gone.
   */
  podsOf(batch: string, pods: ReadonlyMap<string, { readonly has: number; readonly wants: number }>): number {
    const { has, wants } = pods.get(batch) ?? { has: 0, wants: 0 };
    const tracked = this.#tracked.get(batch);
    if (tracked === undefined) return wants;
    const rooms = this.#constraints(tracked.owner, 'pods').map(({ limit, kind, name, batches }) => {
      let rest = limit;
      for (const [other, { has: some }] of pods)
        if (!this.#tracked.has(other) && this.#ended.get(other)?.[kind] === name) rest -= some;
      const capped = batches.map(({ record: { row } }): Capped => {
        const of = pods.get(row.batch) ?? { has: 0, wants: 0 };
        return { ...this.shareOf(row.batch), batch: row.batch, has: of.has, demand: Math.max(of.wants, of.has) };
      });
      return roomUnder(rest, capped, batch);
    });
    return Math.min(wants, has + Math.min(Infinity, ...rooms));
  }

  /** Returns the limit on tokens that an owner has reached. */
  overTokens(owner: Owner): Constraint | undefined {
    return this.#constraints(owner, 'tokens_per_hour').find(
      ({ limit, kind, name }) => this.usage.hour((other) => other[kind] === name) >= limit,
    );
  }

  /** Returns the limit on rollouts that is reached, so that no batch under it starts one. */
  overRollouts(owner: Owner): Constraint | undefined {
    const running = this.#running();
    return this.#constraints(owner, 'rollouts').find(
      ({ limit, batches }) =>
        batches.reduce((sum, { record }) => sum + (running.get(record.row.batch) ?? 0), 0) >= limit,
    );
  }

  /** Returns the limit on pods that an owner is under. */
  podLimit(owner: Owner): Constraint | undefined {
    return this.#constraints(owner, 'pods').sort((a, b) => a.limit - b.limit)[0];
  }

  #constraints(owner: Owner, limit: Limit): Constraint[] {
    const constraints: Constraint[] = [];
    const add = (kind: 'user' | 'queue', name: string | undefined, value: number | undefined): void => {
      if (value === undefined || name === undefined) return;
      const batches = [...this.#tracked.values()].filter((each) => each.owner[kind] === name);
      constraints.push({ limit: value, kind, name, batches });
    };
    add('queue', owner.queue, this.settings.queue(owner.queue)[limit]);
    add('user', owner.user, this.settings.user(owner.user)[limit]);
    return constraints;
  }

  #claim({ record, submission: { concurrency } }: TrackedShare, running: ReadonlyMap<string, number>): Claim {
    const { batch, counts } = record.row;
    const has = running.get(batch) ?? 0;
    const most = concurrency === 'auto' ? Infinity : Math.max(0, concurrency - has);
    const wants =
      record.paused || record.stopping !== undefined
        ? 0
        : Math.min(counts.queued, most, this.#options.requested(batch));
    return { ...this.shareOf(batch), demand: has + wants };
  }

  /** Returns the rollouts that batches run, or are about to: at all servers, and what happened at this one since. */
  #running(): Map<string, number> {
    const running = new Map<string, number>();
    for (const caller of this.#options.callers())
      running.set(caller.batch, (running.get(caller.batch) ?? 0) + caller.running);
    for (const [batch, { record }] of this.#tracked)
      running.set(
        batch,
        Math.max(record.row.counts.running, (running.get(batch) ?? 0) + (this.#leasing.get(batch) ?? 0)),
      );
    return running;
  }
}
