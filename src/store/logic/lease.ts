import type { TaskRecord } from '../../trace/task.ts';
import { int, stored, text } from '../sql/row.ts';
import type { Transaction } from '../sql/sql.ts';
import type { Lease } from '../store.ts';
import { Ledger } from './ledger.ts';
import { lineageOf, readRollout, SELECT_ROLLOUT } from './rolloutState.ts';
import { noSession } from './sessions.ts';

/** See `Store.lease`. */
export async function lease(tx: Transaction, name: string, want: number): Promise<Lease[]> {
  if (want <= 0) return [];
  const session = await tx.get(`SELECT id, batch, worker FROM session WHERE name = ?${tx.dialect.forUpdate}`, name);
  if (session === undefined) throw noSession(name);
  const id = int(session, 'batch');
  // Two servers that lease at once take different ones instead of waiting for each other.
  const rows = await tx.all(`${SELECT_ROLLOUT} WHERE batch = ? AND state = 0 ORDER BY q1, q2 LIMIT ?${tx.dialect.skipLocked}`, id, want);
  const rollouts = rows.map(readRollout);
  const ledger = await Ledger.of(tx, rollouts);
  const batch = ledger.batchIfThere(id);
  if (batch === undefined || batch.paused || batch.stopping !== null || batch.endedAt !== null) return [];
  const leases: Lease[] = [];
  const tasks = new Map<number, TaskRecord>();
  const records = await tx.all(`SELECT idx, record FROM task WHERE batch = ? AND ${tx.dialect.anyInt('idx')}`, id, [...new Set(rollouts.map(({ task }) => task))]);
  for (const row of records) tasks.set(int(row, 'idx'), stored<TaskRecord>(text(row, 'record')));
  for (const rollout of rollouts) {
    const task = tasks.get(rollout.task);
    if (task === undefined) throw new Error(`task ${rollout.task} of batch ${batch.name} is not there`);
    ledger.change(rollout);
    rollout.state = 'running';
    rollout.epoch += 1;
    rollout.session = int(session, 'id');
    rollout.worker = text(session, 'worker');
    leases.push({
      rollout: rollout.name, epoch: rollout.epoch, task, attempt: rollout.attempt, try: rollout.try,
      lineage: lineageOf(batch), last: rollout.last, held: rollout.progress.hold !== undefined,
    });
  }
  await ledger.save();
  return leases;
}
