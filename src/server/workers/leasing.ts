/**
 * Gives queued rollouts to workers that asked for some: as the batch's concurrency, its endpoints and its queue allow.
 */

import { errorText, StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { Submission } from '../../config/submission.ts';
import type { Grant } from '../../protocol/worker.ts';
import type { BatchRecord, Lease, Store } from '../../store/store.ts';
import type { Counters } from '../telemetry/counters.ts';
import { Throttle } from '../throttle.ts';
import { breakpointsOf, type Hub } from './hub.ts';
import type { WorkerSession } from './session.ts';

/** Changes of a batch are many; a worker that waits for work does not notice this. */
const LOOK_EVERY_MS = 50;

export interface LeasingOptions {
  readonly store: Store;
  readonly hub: Hub;
  readonly log: Log;
  readonly counters: Counters;
  readonly submission: (sha: string) => Promise<Submission>;
  /** How many more rollouts the endpoints of a batch can take. */
  readonly room: (batch: string) => number;
  /** A rollout was handed out: whoever watches it is told of by its new holder. */
  readonly granted: (rollout: string) => void;
}

export class Leasing {
  readonly #options: LeasingOptions;
  readonly #batches = new Map<string, Throttle>();
  /** By batch, in the order in which they asked: who waits for work. Some may have got it, or be gone. */
  readonly #hungry = new Map<string, Set<WorkerSession>>();
  #closed = false;

  constructor(options: LeasingOptions) {
    this.#options = options;
  }

  /** The worker wants more. */
  ask(session: WorkerSession, want: number): void {
    session.wanted += want;
    if (!session.unanswered) session.askedAt = performance.now();
    session.unanswered = true;
    const hungry = this.#hungry.get(session.batch) ?? new Set();
    this.#hungry.set(session.batch, hungry.add(session));
    this.#throttle(session.batch).ask(true);
  }

  /** Something of the batch changed; `now`: it is known that there may be work. */
  look(batch: string, now = false): void {
    if (this.#hungry.has(batch)) this.#throttle(batch).ask(now);
  }

  /** Endpoints can take more, or less. */
  lookAtAll(): void {
    for (const batch of this.#hungry.keys()) this.look(batch);
  }

  /** The batch has ended: none will ever come. */
  drained(batch: string): void {
    for (const session of this.#options.hub.sessions(batch)) tellDrained(session);
    this.#batches.get(batch)?.close();
    this.#batches.delete(batch);
    this.#hungry.delete(batch);
  }

  close(): void {
    this.#closed = true;
    for (const throttle of this.#batches.values()) throttle.close();
  }

  #throttle(batch: string): Throttle {
    let throttle = this.#batches.get(batch);
    if (throttle === undefined) {
      throttle = new Throttle(
        LOOK_EVERY_MS,
        () => this.#lease(batch),
        (error) => this.#options.log(`leasing of ${batch} failed: ${errorText(error)}`, { level: 'error', batch }),
      );
      if (this.#closed) throttle.close();
      this.#batches.set(batch, throttle);
    }
    return throttle;
  }

  async #lease(batch: string): Promise<void> {
    const { store } = this.#options;
    const record = await store.batch(batch);
    const hungry = this.#hungryOf(batch);
    if (record === undefined || record.row.state === 'ended') {
      hungry.forEach(tellDrained);
      return;
    }
    const given = record.paused ? new Map<string, number>() : await this.#give(record, hungry);
    for (const session of hungry) {
      if (!session.unanswered) continue;
      session.unanswered = false;
      this.#options.counters.leaseSeconds.observe((performance.now() - session.askedAt) / 1_000);
      if (session.wanted > 0) session.send({ type: 'granted', now: given.get(session.id) ?? 0, drained: false });
    }
  }

  #hungryOf(batch: string): WorkerSession[] {
    const hungry = this.#hungry.get(batch) ?? new Set();
    for (const session of hungry) {
      if (this.#options.hub.session(session.id) !== session || (session.wanted === 0 && !session.unanswered))
        hungry.delete(session);
    }
    if (hungry.size === 0) this.#hungry.delete(batch);
    return [...hungry];
  }

  /** Gives how many each session got. */
  async #give(record: BatchRecord, hungry: readonly WorkerSession[]): Promise<Map<string, number>> {
    const given = new Map<string, number>();
    const { queued, running } = record.row.counts;
    if (queued === 0 || hungry.length === 0) return given;
    const { concurrency } = await this.#options.submission(record.spec.submission);
    let room = Math.min(queued, concurrency === 'auto' ? this.#options.room(record.row.batch) : concurrency - running);
    const about = aboutBatch(record);
    // Each gets its part first, so that one that came early does not take all from those that come at the same time.
    const part = Math.ceil(room / hungry.length);
    for (const most of [part, Infinity]) {
      const asks: { readonly session: WorkerSession; readonly want: number }[] = [];
      for (const session of hungry) {
        const want = Math.min(session.wanted, room, most);
        if (want <= 0) continue;
        asks.push({ session, want });
        room -= want;
      }
      // All at once, so that they share a commit: a thousand workers do not wait for a thousand of them.
      await Promise.all(
        asks.map(async ({ session, want }) => {
          const leases = await this.#take(session, want);
          for (const lease of leases) this.#grant(session, lease, about);
          if (leases.length > 0) this.#options.hub.commands(session);
          given.set(session.id, (given.get(session.id) ?? 0) + leases.length);
          if (leases.length < want) room = 0; // there are no more
        }),
      );
    }
    return given;
  }

  async #take(session: WorkerSession, want: number): Promise<Lease[]> {
    try {
      return await this.#options.store.lease(session.id, want);
    } catch (error) {
      if (!StudioError.is(error, 'not_found')) throw error;
      // Its lease ended while its connection lived (a machine that slept): it must say hello again.
      session.wanted = 0;
      session.expire();
      return [];
    }
  }

  #grant(session: WorkerSession, lease: Lease, about: AboutBatch): void {
    session.wanted -= 1;
    session.rollouts.set(lease.rollout, lease.epoch);
    this.#options.counters.leased(lease.rollout, lease.epoch);
    if (lease.held) session.held.add(lease.rollout);
    session.send({
      type: 'grant',
      ...about,
      rollout: lease.rollout,
      epoch: lease.epoch,
      task: lease.task,
      attempt: lease.attempt,
      try: lease.try,
      lineage: lease.lineage,
      last: lease.last,
      held: lease.held,
    });
    this.#options.granted(lease.rollout);
  }
}

function tellDrained(session: WorkerSession): void {
  session.wanted = 0;
  session.unanswered = false;
  session.send({ type: 'granted', now: 0, drained: true });
}

/** What all grants of one batch have in common. */
type AboutBatch = Pick<Grant, 'batch' | 'submission' | 'breakpoints' | 'paused' | 'fork' | 'edits'>;

function aboutBatch(record: BatchRecord): AboutBatch {
  const { parent } = record.spec;
  return {
    batch: record.row.batch,
    submission: record.spec.submission,
    breakpoints: breakpointsOf(record),
    paused: record.paused,
    ...(parent === undefined ? {} : { fork: { rollout: parent.rollout, seq: parent.seq }, edits: [...parent.edits] }),
  };
}
