import type { TaskRecord } from '../../trace/task.ts';
import { int, stored, text } from '../sql/row.ts';
import type { Row, Transaction } from '../sql/sql.ts';
import type { Lease } from '../store.ts';
import { type Batch, lockBatches } from './batchState.ts';
import { Ledger } from './ledger.ts';
import { PodRollouts } from './podRollouts.ts';
import { lineageOf, type RolloutRecordRow, readRollout, SELECT_ROLLOUT } from './rolloutState.ts';
import { MAY_BEGIN } from './taskCounts.ts';

export interface LeaseRequest {
  readonly session: string;
  readonly want: number;
  /** The pod of the session, if it gets a single rollout. */
  readonly pod?: string | undefined;
}

/** A session that leases queued rollouts of its batch. */
interface PendingGroup {
  readonly session: Row;
  readonly want: number;
  readonly pod: string | undefined;
  readonly leases: Lease[];
}

/** See `Store.lease`, for many sessions in one transaction. The results are in the order of the requests. */
export async function leaseAll(
  tx: Transaction,
  requests: readonly LeaseRequest[],
): Promise<(Lease[] | 'no session')[]> {
  const names = [...new Set(requests.map(({ session }) => session))];
  const rows = await tx.all(
    `SELECT id, name, batch, worker FROM session WHERE ${tx.dialect.anyText('name')} ORDER BY ` +
      `id${tx.dialect.forUpdate}`,
    names,
  );
  const sessions = new Map(rows.map((row) => [text(row, 'name'), row]));
  const groups = new Map<number, PendingGroup[]>();
  const results = requests.map(({ session: name, want, pod }) => {
    const session = sessions.get(name);
    if (session === undefined) return 'no session';
    const group: PendingGroup = { session, want: pod === undefined ? want : 1, pod, leases: [] };
    const batch = int(session, 'batch');
    const others = groups.get(batch);
    if (others === undefined) groups.set(batch, [group]);
    else others.push(group);
    return group.leases;
  });

  // In order of their IDs, like everywhere else that locks several batches.
  for (const [batch, batchGroups] of [...groups].sort(([a], [b]) => a - b)) await leaseOf(tx, batch, batchGroups);
  return results;
}

async function leaseOf(tx: Transaction, id: number, groups: readonly PendingGroup[]): Promise<void> {
  // Locked before its rollouts, which is harmless, because those of others are skipped.
  const pending = await tx.get('SELECT id FROM batch WHERE id = ? AND pending > 0', id);
  if (pending !== undefined) await lockBatches(tx, [id]);
  // Two servers that lease concurrently take different rollouts instead of waiting for each other.
  const rows = await tx.all(
    `${SELECT_ROLLOUT} WHERE batch = ? AND state = 0 AND ${MAY_BEGIN} ORDER BY q1, q2 LIMIT ?${tx.dialect.skipLocked}`,
    id,
    id,
    groups.reduce((sum, { want }) => sum + want, 0),
  );
  const pods = await PodRollouts.of(
    tx,
    id,
    groups.flatMap(({ pod }) => pod ?? []),
  );
  const own = new Set(pods.queued.map(({ name }) => name));
  const queue = rows.map(readRollout).filter(({ name }) => !own.has(name));
  const all = [...pods.queued, ...queue];
  const ledger = await Ledger.of(tx, all);
  const batch = ledger.findBatch(id);
  if (batch === undefined || batch.paused || batch.stopping !== null || batch.endedAt !== null) return;
  const tasks = await tasksOf(tx, id, all);
  await ledger.groups.load(all, () => batch);
  for (const { session, want, pod, leases } of groups) {
    const leased = pod === undefined ? queue.splice(0, want) : await pods.take(pod, queue);
    for (const rollout of leased) leases.push(leaseRollout(ledger, batch, session, rollout, tasks));
  }
  await ledger.save();
}

function leaseRollout(
  ledger: Ledger,
  batch: Batch,
  session: Row,
  rollout: RolloutRecordRow,
  tasks: ReadonlyMap<number, TaskRecord>,
): Lease {
  const task = tasks.get(rollout.task);
  const sampling = ledger.groups.find(batch, rollout.task)?.request.sampling;
  if (task === undefined) throw new Error(`task ${rollout.task} of batch ${batch.name} is not there`);
  ledger.change(rollout);
  rollout.state = 'running';
  rollout.epoch += 1;
  rollout.session = int(session, 'id');
  rollout.worker = text(session, 'worker');
  return {
    rollout: rollout.name,
    epoch: rollout.epoch,
    task,
    attempt: rollout.attempt,
    try: rollout.try,
    ...(rollout.progress.place === undefined ? {} : { place: rollout.progress.place }),
    ...(sampling === undefined ? {} : { sampling }),
    lineage: lineageOf(batch, rollout.origin),
    ...(rollout.origin === undefined ? {} : { rescores: { rollout: rollout.origin.rollout, seq: rollout.origin.seq } }),
    last: rollout.last,
    held: rollout.progress.hold !== undefined,
  };
}

async function tasksOf(
  tx: Transaction,
  batch: number,
  rollouts: readonly RolloutRecordRow[],
): Promise<Map<number, TaskRecord>> {
  const rows = await tx.all(`SELECT idx, record FROM task WHERE batch = ? AND ${tx.dialect.anyInt('idx')}`, batch, [
    ...new Set(rollouts.map(({ task }) => task)),
  ]);
  return new Map(rows.map((row) => [int(row, 'idx'), stored<TaskRecord>(text(row, 'record'))]));
}
