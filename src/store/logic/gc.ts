import { StudioError } from '../../common/errors.ts';
import type { TrimReason } from '../../common/trimmed.ts';
import { ABANDONED_MS, forgetCopy, incompleteCopies } from '../archive/copyIn.ts';
import type { CollectableBlobs } from '../blobs/content.ts';
import { int, intOr, text } from '../sql/row.ts';
import type { Reader, Row, Sql, Transaction } from '../sql/sql.ts';
import type { Store } from '../store.ts';
import { trajectoryBytes } from './batchSizes.ts';
import { batchStream } from './events.ts';
import { keptBlobs, markTrimmed, trimMarked } from './trimming.ts';
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
  readonly trim?: (batch: string) => TrimReason | undefined;
};
interface Candidate {
  readonly id: number;
  readonly name: string;
  /** Absent: it is removed. */
  readonly trim?: TrimReason;
}

interface Selected {
  readonly selected: readonly Candidate[];
  readonly kept: { batch: string; why: string }[];
}

/** See `Store.gc`. */
export async function gc(sql: Sql, blobs: CollectableBlobs, options: GcOptions): ReturnType<Store['gc']> {
  requireNoBackup(sql);
  const now = await sql.now();
  if (!options.dryRun)
    await removeIncomplete(sql, await sql.read((db) => incompleteCopies(db, { before: now - ABANDONED_MS })));
  const { selected, kept } = await sql.read((db) => selectBatches(db, options, now));
  const before = now - (options.blobGraceMs ?? GRACE_MS);
  if (options.dryRun) {
    const trims = selected.filter(({ trim }) => trim !== undefined);
    const needed = new Set<string>();
    let bytes = 0;
    for (const { id } of trims) {
      for (const sha of await keptBlobs(sql, id)) needed.add(sha);
      bytes += await trajectoryBytes(sql, id);
    }
    const swept = await blobs.sweep({ before, without: selected.map(({ id }) => id), needed, dryRun: true });
    return { ...namesOf(selected), kept, blobs: swept.blobs, bytes: swept.bytes + bytes };
  }
  const done: Candidate[] = [];
  // Forks are newer than what they read, so the newest goes first: no batch ever loses events that it reads.
  for (const batch of selected.toReversed()) {
    const { trim } = batch;
    const goes = await sql.write((tx) => (trim === undefined ? hide(tx, batch) : markTrimmed(tx, batch, trim)));
    if (goes) done.push(batch);
    else kept.push({ batch: batch.name, why: 'it was forked or restarted in the meantime' });
  }
  // Both include those of an interrupted gc.
  for (const row of await sql.read((db) => db.all('SELECT id FROM batch WHERE gone = 1 ORDER BY id')))
    await remove(sql, int(row, 'id'));
  const bytes = await trimMarked(sql);
  requireNoBackup(sql); // it may have begun since, and reads files
  const swept = await blobs.sweep({ before, without: [], dryRun: false });
  await sql.shrink();
  return { ...namesOf(done), kept, blobs: swept.blobs, bytes: swept.bytes + bytes };
}

function requireNoBackup(sql: Sql): void {
  if (sql.isSnapshotOpen())
    throw new StudioError('unavailable', 'A backup of this store is being made, so nothing can be removed.', {
      hint: 'Try again when the backup is complete.',
    });
}

function namesOf(batches: readonly Candidate[]): { batches: string[]; trimmed: string[] } {
  const names = (isTrimmed: boolean): string[] =>
    batches.flatMap(({ name, trim }) => ((trim !== undefined) === isTrimmed ? [name] : []));
  return { batches: names(false), trimmed: names(true) };
}

/** Selects ended batches by age or name, except those that a remaining batch reads; oldest first. */
async function selectBatches(db: Reader, options: GcOptions, now: number): Promise<Selected> {
  const kept: { batch: string; why: string }[] = [];
  const selected = new Map<number, Candidate>();
  const add = (row: Row): void => {
    const [id, name] = [int(row, 'id'), text(row, 'name')];
    const trim = options.trim?.(name);
    selected.set(id, { id, name, ...(trim === undefined ? {} : { trim }) });
  };
  const isDone = (row: Row): boolean => row['trimmed'] !== null && options.trim?.(text(row, 'name')) !== undefined;
  if (options.olderThanMs !== undefined) {
    const rows = await db.all(
      'SELECT id, name, trimmed FROM batch WHERE gone = 0 AND ended_at IS NOT NULL AND ended_at <= ? ORDER BY id',
      now - options.olderThanMs,
    );
    for (const row of rows) if (!isDone(row)) add(row);
  }
  for (const name of options.batches ?? []) {
    const row = await db.get('SELECT id, name, ended_at, trimmed FROM batch WHERE name = ? AND gone = 0', name);
    if (row === undefined) kept.push({ batch: name, why: 'there is no such batch' });
    else if (intOr(row, 'ended_at', null) === null) kept.push({ batch: name, why: 'it has not ended' });
    else if (isDone(row)) kept.push({ batch: name, why: 'its trajectories are trimmed already' });
    else add(row);
  }
  const forks = await db.all(
    `SELECT l.parent AS parent, l.batch AS batch, b.name AS name, b.trimmed AS trimmed
      FROM lineage l JOIN batch b ON b.id = l.batch WHERE b.gone = 0 AND ${db.dialect.anyInt('l.parent')}`,
    [...selected.keys()],
  );
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    for (const fork of forks) {
      const parent = selected.get(int(fork, 'parent'));
      const child = selected.get(int(fork, 'batch'));
      if (parent === undefined || (child !== undefined && (child.trim === undefined || parent.trim !== undefined)))
        continue;
      // A fork that is trimmed reads no events, but still names its parent.
      if (parent.trim !== undefined && fork['trimmed'] !== null) continue;
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
