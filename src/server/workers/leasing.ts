/**
 * Leases queued rollouts to workers that request them, within the batch's concurrency and the permits of its endpoints.
 */

import { errorText, StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { Submission } from '../../config/submission.ts';
import type { Grant } from '../../protocol/worker.ts';
import type { BatchRecord, Lease, Store } from '../../store/store.ts';
import type { Shares } from '../shares/shares.ts';
import type { Counters } from '../telemetry/counters.ts';
import { Throttle } from '../throttle.ts';
import { Gathering } from './gathering.ts';
import { grantedTask, type TaskNeeds, taskNeeds } from './grantedTask.ts';
import { breakpointsOf, type Hub } from './hub.ts';
import type { PodEnrollment } from './podEnrollment.ts';
import type { WorkerSession } from './session.ts';

/** Batches change often. Waiting workers do not notice this delay. */
const LOOK_EVERY_MS = 50;
interface LeasingOptions {
  readonly store: Store;
  readonly hub: Hub;
  readonly pods: PodEnrollment;
  readonly log: Log;
  readonly counters: Counters;
  readonly submission: (sha: string) => Promise<Submission>;
  /** Returns how many more rollouts the endpoints of a batch can take. */
  readonly room: (batch: string) => number;
  /** The shares and limits of users and queues. */
  readonly shares: Pick<Shares, 'room' | 'lease' | 'granted'>;
  /** Called when a rollout was leased, so that its new worker sends live text to those watching. */
  readonly onGranted: (rollout: string) => void;
}

export class Leasing {
  readonly #options: LeasingOptions;
  readonly #batches = new Map<string, Throttle>();
  /** Workers waiting for work by batch, in order of their requests. Some may have got work or disconnected since. */
  readonly #waiting = new Map<string, Set<WorkerSession>>();
  readonly #gathering = new Gathering((batch) => this.check(batch, true));
  #closed = false;

  constructor(options: LeasingOptions) {
    this.#options = options;
  }

  /** Handles a request for a group, before it is stored. */
  gather(batch: string): void {
    this.#gathering.requested(batch);
  }

  /** Handles a worker's request for more rollouts. */
  request(session: WorkerSession, want: number): void {
    if (session.leaving) return;
    session.requested = session.pod === undefined ? session.requested + want : Math.min(want, 1);
    if (!session.unanswered) session.requestedAt = performance.now();
    session.unanswered = true;
    const waiting = this.#waiting.get(session.batch) ?? new Set();
    this.#waiting.set(session.batch, waiting.add(session));
    this.#throttle(session.batch).request(true);
  }

  /** Handles a change of the batch. `now`: there is likely work. */
  check(batch: string, now = false): void {
    if (this.#gathering.isWaiting(batch)) return; // it is checked after that
    if (this.#waiting.has(batch)) this.#throttle(batch).request(now);
  }

  /** Returns how many rollouts the workers of a batch wait for. */
  requested(batch: string): number {
    let requested = 0;
    for (const session of this.#waiting.get(batch) ?? []) requested += session.requested;
    return requested;
  }

  /** Handles a change of endpoint permits, or of what others leave. */
  lookAtAll(): void {
    for (const batch of this.#waiting.keys()) this.check(batch);
  }

  /** Handles the end of a batch: there will be no more rollouts. */
  drained(batch: string): void {
    for (const session of this.#options.hub.sessions(batch)) sendDrained(session);
    this.#batches.get(batch)?.close();
    this.#batches.delete(batch);
    this.#waiting.delete(batch);
    this.#gathering.forget(batch);
  }

  close(): void {
    this.#closed = true;
    this.#gathering.close();
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
    if (record !== undefined && this.#isGathering(record)) return;
    const waiting = await this.#waitingFor(batch);
    if (record === undefined || record.row.state === 'ended') {
      waiting.forEach(sendDrained);
      return;
    }
    const counts = record.paused ? new Map<string, number>() : await this.#leaseTo(record, waiting);
    for (const session of waiting) {
      if (!session.unanswered) continue;
      session.unanswered = false;
      this.#options.counters.leaseSeconds.observe((performance.now() - session.requestedAt) / 1_000);
      if (session.requested > 0) session.send({ type: 'granted', now: counts.get(session.id) ?? 0, drained: false });
    }
  }

  /** Whether the lanes of a batch wait for the rest of its groups. */
  #isGathering({ row: { batch, counts, state } }: BatchRecord): boolean {
    return state !== 'ended' && counts.running + counts.held === 0 && this.#gathering.wait(batch);
  }

  async #waitingFor(batch: string): Promise<WorkerSession[]> {
    const waiting = this.#waiting.get(batch) ?? new Set();
    for (const session of waiting) {
      if (this.#options.hub.session(session.id) !== session || (session.requested === 0 && !session.unanswered)) {
        waiting.delete(session);
      } else if (session.only !== undefined && !(await this.#options.pods.mayLease(session))) {
        waiting.delete(session);
        sendDrained(session);
      }
    }
    if (waiting.size === 0) this.#waiting.delete(batch);
    return [...waiting];
  }

  /** Leases rollouts and returns the number per session. */
  async #leaseTo(record: BatchRecord, waiting: readonly WorkerSession[]): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    const { queued, running } = record.row.counts;
    if (queued === 0 || waiting.length === 0) return counts;
    const submission = await this.#options.submission(record.spec.submission);
    const { concurrency } = submission;
    const { batch } = record.row;
    let room = Math.min(
      queued,
      this.#options.shares.room(record),
      concurrency === 'auto' ? this.#options.room(batch) : concurrency - running - this.#continuing(batch),
    );
    // Each session gets its share first, so that the first one does not take everything.
    const part = Math.ceil(room / waiting.length);
    for (const limit of [part, Infinity]) {
      const requests: { readonly session: WorkerSession; readonly want: number }[] = [];
      for (const session of waiting) {
        const want = Math.min(session.requested, room, limit);
        if (want <= 0) continue;
        requests.push({ session, want });
        room -= want;
      }
      const leased = this.#options.shares.lease(
        batch,
        requests.reduce((sum, { want }) => sum + want, 0),
      );
      // In parallel, so that they share a commit: a thousand workers must not wait for a thousand commits.
      await Promise.all(
        requests.map(async ({ session, want }) => {
          const leases = await this.#leaseRollouts(session, want);
          counts.set(session.id, (counts.get(session.id) ?? 0) + leases.length);
          if (leases.length < want) room = 0; // the queue is empty
          if (leases.length === 0) return;
          // Breakpoints that were set during the lease have been sent already, and the grant must not undo them.
          const current = await this.#options.store.batch(batch);
          const fields = grantFields(current ?? record);
          const needs = taskNeeds(submission, fields.breakpoints);
          for (const lease of leases) this.#grant(session, lease, fields, needs);
          this.#options.hub.commands(session);
        }),
      ).finally(leased);
      if (counts.size > 0) this.#options.shares.granted();
    }
    return counts;
  }

  /** Returns the rollouts that the end of a pause is about to continue. Other held ones leave their places. */
  #continuing(batch: string): number {
    let rollouts = 0;
    for (const session of this.#options.hub.sessions(batch)) rollouts += session.pausedWithBatch.size;
    return rollouts;
  }

  async #leaseRollouts(session: WorkerSession, want: number): Promise<Lease[]> {
    try {
      return await this.#options.store.lease(session.id, want, session.pod);
    } catch (error) {
      if (!StudioError.is(error, 'not_found')) throw error;
      // Its lease ended while its connection was open (the machine slept), so the worker must reconnect.
      session.requested = 0;
      session.expire();
      return [];
    }
  }

  #grant(session: WorkerSession, lease: Lease, fields: GrantFields, needs: TaskNeeds): void {
    session.requested -= 1;
    session.granted();
    if (session.pod !== undefined) session.only = lease.rollout;
    const { epoch, task, attempt, place, sampling, rescores } = lease;
    const held = { epoch, task: task.id, attempt, try: lease.try };
    session.rollouts.set(lease.rollout, rescores === undefined ? held : { ...held, rescores });
    session.lost.delete(lease.rollout);
    this.#options.counters.leased(lease.rollout, lease.epoch);
    if (lease.held) session.held.add(lease.rollout);
    session.send({
      type: 'grant',
      ...fields,
      rollout: lease.rollout,
      epoch,
      task: grantedTask(task, needs),
      attempt,
      try: lease.try,
      ...(place === undefined ? {} : { place }),
      ...(sampling === undefined ? {} : { sampling }),
      lineage: lease.lineage,
      ...(rescores === undefined ? {} : { rescores }),
      last: lease.last,
      held: lease.held,
    });
    this.#options.onGranted(lease.rollout);
  }
}

function sendDrained(session: WorkerSession): void {
  session.requested = 0;
  session.unanswered = false;
  session.send({ type: 'granted', now: 0, drained: true });
}

/** The fields that all grants of one batch have in common. */
type GrantFields = Pick<
  Grant,
  'batch' | 'submission' | 'breakpoints' | 'paused' | 'fork' | 'edits' | 'part' | 'sampling'
>;

function grantFields(record: BatchRecord): GrantFields {
  const { parent } = record.spec;
  return {
    batch: record.row.batch,
    submission: record.spec.submission,
    breakpoints: breakpointsOf(record),
    paused: record.paused,
    ...(parent === undefined ? {} : { fork: { rollout: parent.rollout, seq: parent.seq }, edits: [...parent.edits] }),
    ...(parent?.part === undefined ? {} : { part: parent.part }),
    ...(parent?.sampling === undefined ? {} : { sampling: parent.sampling }),
  };
}
