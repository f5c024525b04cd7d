import { StudioError } from '../../common/errors.ts';
import { ABANDONED_MS, forgetCopy, incompleteCopies } from '../archive/copyIn.ts';
import type { CollectableBlobs } from '../blobs/content.ts';
import { int, intOr, text } from '../sql/row.ts';
import type { Reader, Sql, Transaction } from '../sql/sql.ts';
import { batchStream } from './events.ts';
import { foldPods } from './usage.ts';

const GRACE_MS = 60 * 60 * 1000;
/** Rollouts removed per transaction. */
const AT_ONCE = 200;

/** Tables with rows of batches, apart from rollouts and events. */
const OF_BATCH = [
  'task',
  'session',
  'command',
  'claim',
  'pod_rollout',
  'dataset_task',
  'trainer_group',
  'group_callback',
  'task_count',
  'batch_reader',
];

type GcOptions = {
  readonly olderThanMs?: number;
  readonly batches?: readonly string[];
  readonly dryRun: boolean;
  readonly blobGraceMs?: number;
};
interface Candidate {
  readonly id: number;
  readonly name: string;
}

/** See `Store.gc`. */
export async function gc(
  sql: Sql,
  blobs: CollectableBlobs,
  options: GcOptions,
): Promise<{ batches: string[]; kept: { batch: string; why: string }[]; blobs: number; bytes: number }> {
  if (sql.isSnapshotOpen())
    throw new StudioError('unavailable', 'A backup of this store is being made, so nothing can be removed.', {
      hint: 'Try again when the backup is complete.',
    });
  const now = await sql.now();
  if (!options.dryRun)
    await removeIncomplete(sql, await sql.read((db) => incompleteCopies(db, { before: now - ABANDONED_MS })));
  const { selected, kept } = await sql.read((db) => selectBatches(db, options, now));
  const batches: string[] = [];
  if (options.dryRun) {
    batches.push(...selected.map(({ name }) => name));
  } else {
    // Forks are newer than what they read, so the newest goes first: no batch ever loses events that it reads.
    for (const batch of selected.toReversed()) {
      if (await sql.write((tx) => hide(tx, batch))) batches.push(batch.name);
      else kept.push({ batch: batch.name, why: 'it was forked or restarted in the meantime' });
    }
    // Includes those of an interrupted gc.
    for (const row of await sql.read((db) => db.all('SELECT id FROM batch WHERE gone = 1 ORDER BY id')))
      await remove(sql, int(row, 'id'));
  }
  const removed = await blobs.sweep({
    before: now - (options.blobGraceMs ?? GRACE_MS),
    without: options.dryRun ? selected.map(({ id }) => id) : [],
    dryRun: options.dryRun,
  });
  if (!options.dryRun) await sql.shrink();
  return { batches, kept, ...removed };
}

/** Selects ended batches by age or name, except those that a remaining batch reads; oldest first. */
async function selectBatches(
  db: Reader,
  options: GcOptions,
  now: number,
): Promise<{ selected: Candidate[]; kept: { batch: string; why: string }[] }> {
  const kept: { batch: string; why: string }[] = [];
  const selected = new Map<number, Candidate>();
  if (options.olderThanMs !== undefined) {
    const rows = await db.all(
      'SELECT id, name FROM batch WHERE gone = 0 AND ended_at IS NOT NULL AND ended_at <= ? ORDER BY id',
      now - options.olderThanMs,
    );
    for (const row of rows) selected.set(int(row, 'id'), { id: int(row, 'id'), name: text(row, 'name') });
  }
  for (const name of options.batches ?? []) {
    const row = await db.get('SELECT id, ended_at FROM batch WHERE name = ? AND gone = 0', name);
    if (row === undefined) kept.push({ batch: name, why: 'there is no such batch' });
    else if (intOr(row, 'ended_at', null) === null) kept.push({ batch: name, why: 'it has not ended' });
    else selected.set(int(row, 'id'), { id: int(row, 'id'), name });
  }
  const forks = await db.all(
    `SELECT l.parent AS parent, l.batch AS batch, b.name AS name FROM lineage l JOIN batch b ON b.id = l.batch
    WHERE b.gone = 0 AND ${db.dialect.anyInt('l.parent')}`,
    [...selected.keys()],
  );
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    for (const fork of forks) {
      const parent = selected.get(int(fork, 'parent'));
      if (parent === undefined || selected.has(int(fork, 'batch'))) continue;
      selected.delete(parent.id);
      kept.push({ batch: parent.name, why: `batch ${text(fork, 'name')} reads it` });
      hasChanged = true;
    }
  }
  return { selected: [...selected.values()].sort((a, b) => a.id - b.id), kept };
}

/** Hides the batch from everybody. Returns false when it is still needed. */
async function hide(tx: Transaction, { id, name }: Candidate): Promise<boolean> {
  const row = await tx.get(
    `SELECT id FROM batch WHERE id = ? AND gone = 0 AND ended_at IS NOT NULL${tx.dialect.forUpdate}`,
    id,
  );
  if (row === undefined) return false;
  if ((await tx.get('SELECT batch FROM lineage WHERE parent = ?', id)) !== undefined) return false;
  await tx.run('UPDATE batch SET gone = 1 WHERE id = ?', id);
  await foldPods(tx, name);
  await tx.run('DELETE FROM lineage WHERE batch = ?', id);
  await tx.run('DELETE FROM blob_ref WHERE batch = ?', id);
  tx.changed(name);
  return true;
}

/** Removes incomplete copies of batches. */
export async function removeIncomplete(sql: Sql, ids: readonly number[]): Promise<void> {
  for (const id of ids) {
    await sql.write((tx) => forgetCopy(tx, id));
    await remove(sql, id);
  }
}

async function remove(sql: Sql, id: number): Promise<void> {
  for (let more = true; more; ) {
    more = await sql.write(async (tx) => {
      const rows = await tx.all('SELECT id FROM rollout WHERE batch = ? LIMIT ?', id, AT_ONCE);
      const ids = rows.map((row) => int(row, 'id'));
      await tx.run(`DELETE FROM event WHERE ${tx.dialect.anyInt('stream')}`, ids);
      await tx.run(`DELETE FROM rollout WHERE ${tx.dialect.anyInt('id')}`, ids);
      return ids.length === AT_ONCE;
    });
  }
  await sql.write(async (tx) => {
    await tx.run('DELETE FROM event WHERE stream = ?', batchStream(id));
    for (const table of OF_BATCH) await tx.run(`DELETE FROM ${table} WHERE batch = ?`, id);
    await tx.run('DELETE FROM batch WHERE id = ?', id);
  });
}
