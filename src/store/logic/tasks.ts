import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { canonicalJson } from '../../common/json.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { int, quote, stored, text } from '../sql/row.ts';
import { TASK } from '../sql/schema.ts';
import type { Reader, Sql, Transaction } from '../sql/sql.ts';
import { findBatch, lockBatch, noBatch, saveBatches } from './batchState.ts';
import { addBlobRefs } from './blobRefs.ts';
import { checkTaskId } from './names.ts';
import { insertRollouts, type NewRollout } from './rolloutState.ts';

/** Rollouts queued per transaction, so that other transactions do not wait long. */
const ROLLOUTS_AT_ONCE = 2000;

/**
 * See `Store.addTasks`. Uses several transactions for many tasks. Tasks are identified by index, so repeating the call
 * after a failure continues where it stopped.
 */
export async function addTasks(sql: Sql, name: string, from: number, tasks: readonly TaskRecord[]): Promise<void> {
  tasks.forEach(({ id }) => checkTaskId(id));
  for (let at = 0; at < tasks.length; ) {
    at += await sql.write((tx) => addSome(tx, name, from + at, tasks.slice(at)));
  }
}

/** Adds at least one of `tasks`. Returns how many were added. */
async function addSome(tx: Transaction, name: string, from: number, tasks: readonly TaskRecord[]): Promise<number> {
  const batch = await lockBatch(tx, name);
  if (from > batch.tasks)
    throw new StudioError('conflict', `Tasks ${batch.tasks} to ${from - 1} of batch ${name} are missing.`, {
      details: { next: batch.tasks },
    });
  if (from < batch.tasks) {
    const existing = tasks.slice(0, batch.tasks - from);
    await checkSame(tx, batch.id, from, existing);
    return existing.length;
  }
  if (batch.sealed) throw new StudioError('conflict', `Batch ${name} is sealed, so no tasks can be added.`);
  const some = tasks.slice(0, Math.max(1, Math.floor(ROLLOUTS_AT_ONCE / batch.spec.attempts)));
  const duplicates = await tx.all(
    `SELECT name FROM task WHERE batch = ? AND ${tx.dialect.anyText('name')}`,
    batch.id,
    some.map(({ id }) => quote(id)),
  );
  const ids = new Set(duplicates.map((row) => text(row, 'name')));
  for (const { id } of some) {
    if (ids.has(quote(id)))
      throw new StudioError('conflict', `Batch ${name} already has a task ${JSON.stringify(id)}.`, {
        hint: 'Use a unique ID for every task.',
      });
    ids.add(quote(id));
  }
  const attempts = batch.spec.attempts;
  await tx.insert(
    TASK,
    ['batch', 'idx', 'name', 'record', 'open', 'passed'],
    some.map((task, index) => [batch.id, from + index, quote(task.id), JSON.stringify(task), attempts, 0]),
  );
  await addBlobRefs(tx, batch.id, [...new Set(some.flatMap((task) => (task.files ?? []).map(({ sha }) => sha)))]);
  if (!batch.spec.imported) await insertRollouts(tx, batch, attemptsOf(from, some.length, attempts, tx.now), 'queued');
  batch.tasks += some.length;
  batch.counts.queued += some.length * attempts;
  await saveBatches(tx, [batch]);
  return some.length;
}

async function checkSame(tx: Transaction, batch: number, from: number, tasks: readonly TaskRecord[]): Promise<void> {
  const rows = await tx.all(
    'SELECT idx, record FROM task WHERE batch = ? AND idx >= ? AND idx < ? ORDER BY idx',
    batch,
    from,
    from + tasks.length,
  );
  rows.forEach((row, index) => {
    if (canonicalJson(stored(text(row, 'record'))) !== canonicalJson(tasks[index])) {
      throw new StudioError('conflict', `Task ${int(row, 'idx')} of the batch already exists with different content.`);
    }
  });
}

/** Returns the first tries of all attempts of the tasks from index `from`, with new IDs. */
function attemptsOf(from: number, tasks: number, attempts: number, now: number): NewRollout[] {
  const names = new Set<string>(); // IDs of the same millisecond have few random bits and may collide
  while (names.size < tasks * attempts) names.add(newId('r', now));
  return Array.from(names, (name, index) => ({
    name,
    task: from + Math.floor(index / attempts),
    attempt: (index % attempts) + 1,
    try: 1,
  }));
}

/** See `Store.tasks`. */
export async function listTasks(
  db: Reader,
  name: string,
  page: { after?: number; limit: number },
): Promise<{ tasks: TaskRecord[]; next?: number }> {
  const batch = await findBatch(db, name);
  if (batch === undefined) throw noBatch(name);
  const rows = await db.all(
    'SELECT idx, record FROM task WHERE batch = ? AND idx > ? ORDER BY idx LIMIT ?',
    batch.id,
    page.after ?? -1,
    page.limit,
  );
  const last = rows.at(-1);
  const more = last !== undefined && int(last, 'idx') < batch.tasks - 1;
  return {
    tasks: rows.map((row) => stored<TaskRecord>(text(row, 'record'))),
    ...(more ? { next: int(last, 'idx') } : {}),
  };
}

/** See `Store.task`. */
export async function findTask(db: Reader, name: string, index: number): Promise<TaskRecord | undefined> {
  const row = await db.get(
    'SELECT t.record AS record FROM task t JOIN batch b ON b.id = t.batch WHERE b.name = ? AND b.gone = 0 AND ' +
      't.idx = ?',
    name,
    index,
  );
  return row === undefined ? undefined : stored<TaskRecord>(text(row, 'record'));
}
