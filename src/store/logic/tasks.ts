import { StudioError } from '../../common/errors.ts';
import { canonicalJson } from '../../common/json.ts';
import type { TaskRate } from '../../trace/selection/curriculum.ts';
import { blobsOfTask, type TaskRecord } from '../../trace/task.ts';
import { int, quote, stored, text } from '../sql/row.ts';
import { TASK } from '../sql/schema.ts';
import type { Reader, Sql, Transaction } from '../sql/sql.ts';
import type { Origin, RescoredTask } from '../store.ts';
import { firstAttempts } from './adaptive.ts';
import { type Batch, findBatch, lockBatch, noBatch, saveBatches } from './batchState.ts';
import { addBlobRefs } from './blobRefs.ts';
import { addDatasetTasks } from './groups/dataset.ts';
import { checkTaskId } from './names.ts';
import { insertRollouts, lineageOf, type NewRollout, readRollout, SELECT_ROLLOUT, withNames } from './rolloutState.ts';
import { addTaskRates } from './taskCounts.ts';

/** Rollouts queued per transaction, so that other transactions do not wait long. */
const ROLLOUTS_AT_ONCE = 2000;

/**
 * See `Store.addTasks`. Uses several transactions for many tasks. Tasks are identified by index, so repeating the call
 * after a failure continues where it stopped.
 */
export function addTasks(
  sql: Sql,
  name: string,
  from: number,
  tasks: readonly TaskRecord[],
  rates: Rates = {},
): Promise<void> {
  return addAll(
    sql,
    name,
    from,
    tasks.map((task) => ({ task })),
    rates,
  );
}

/** See `Store.addRescored`. */
export function addRescored(sql: Sql, name: string, from: number, tasks: readonly RescoredTask[]): Promise<void> {
  return addAll(sql, name, from, tasks);
}

/** A task, and the rollouts to score again if the batch rescores another one. */
type NewTask = Pick<RescoredTask, 'task'> & Partial<RescoredTask>;

type Rates = Readonly<Record<string, TaskRate>>;

async function addAll(
  sql: Sql,
  name: string,
  from: number,
  tasks: readonly NewTask[],
  rates: Rates = {},
): Promise<void> {
  tasks.forEach(({ task }) => checkTaskId(task.id));
  for (let at = 0; at < tasks.length; ) {
    at += await sql.write((tx) => addSome(tx, name, from + at, tasks.slice(at), rates));
  }
}

/** Adds at least one of `tasks`. Returns how many were added. */
async function addSome(
  tx: Transaction,
  name: string,
  from: number,
  tasks: readonly NewTask[],
  rates: Rates,
): Promise<number> {
  const batch = await lockBatch(tx, name);
  if (batch.spec.group !== undefined) {
    const some = tasks.slice(0, ROLLOUTS_AT_ONCE).map(({ task }) => task);
    await addDatasetTasks(tx, batch, from, some);
    await addTaskRates(
      tx,
      batch,
      from,
      some.map(({ id }) => id),
      rates,
    );
    return some.length;
  }
  if (from > batch.tasks)
    throw new StudioError('conflict', `Tasks ${batch.tasks} to ${from - 1} of batch ${name} are missing.`, {
      details: { next: batch.tasks },
    });
  if (from < batch.tasks) {
    const existing = tasks.slice(0, batch.tasks - from).map(({ task }) => task);
    await checkSame(tx, batch.id, from, existing);
    return existing.length;
  }
  if (batch.sealed) throw new StudioError('conflict', `Batch ${name} is sealed, so no tasks can be added.`);
  const some = tasks.slice(0, Math.max(1, Math.floor(ROLLOUTS_AT_ONCE / firstAttempts(batch.spec))));
  const duplicates = await tx.all(
    `SELECT name FROM task WHERE batch = ? AND ${tx.dialect.anyText('name')}`,
    batch.id,
    some.map(({ task }) => quote(task.id)),
  );
  const ids = new Set(duplicates.map((row) => text(row, 'name')));
  for (const { task } of some) {
    if (ids.has(quote(task.id)))
      throw new StudioError('conflict', `Batch ${name} already has a task ${JSON.stringify(task.id)}.`, {
        hint: 'Use a unique ID for every task.',
      });
    ids.add(quote(task.id));
  }
  const added = await rolloutsOf(tx, batch, from, some);
  await tx.insert(
    TASK,
    ['batch', 'idx', 'name', 'record', 'open', 'passed'],
    some.map(({ task, rollouts }, index) => [
      batch.id,
      from + index,
      quote(task.id),
      JSON.stringify(task),
      rollouts?.length ?? firstAttempts(batch.spec),
      0,
    ]),
  );
  await addTaskRates(
    tx,
    batch,
    from,
    some.map(({ task }) => task.id),
    rates,
  );
  const files = some.flatMap(({ task }) => blobsOfTask(task));
  await addBlobRefs(tx, batch.id, [...new Set(files)]);
  if (!batch.spec.imported) await insertRollouts(tx, batch, added, 'queued');
  batch.tasks += some.length;
  batch.counts.queued += added.length;
  await saveBatches(tx, [batch]);
  return some.length;
}

/** Returns the first tries of the attempts of tasks, with new IDs. */
async function rolloutsOf(
  tx: Transaction,
  batch: Batch,
  from: number,
  tasks: readonly NewTask[],
): Promise<NewRollout[]> {
  const { rescores } = batch.spec;
  if (rescores === undefined) return withNames(attemptsOf(from, tasks.length, firstAttempts(batch.spec)), tx.now);
  const origins = await originsOf(tx, rescores.batch, tasks);
  return withNames(
    tasks.flatMap(({ rollouts = [] }, index) =>
      rollouts.map(({ attempt, rollout }) => ({
        task: from + index,
        attempt,
        try: 1,
        origin: origins.get(rollout),
      })),
    ),
    tx.now,
  );
}

/** Returns where each rollout to score again ends. Throws `conflict` if one has not ended. */
async function originsOf(
  tx: Transaction,
  rescores: string,
  tasks: readonly NewTask[],
): Promise<ReadonlyMap<string, Origin>> {
  const rescored = await findBatch(tx, rescores);
  if (rescored === undefined) throw noBatch(rescores);
  const names = tasks.flatMap(({ rollouts = [] }) => rollouts.map(({ rollout }) => rollout));
  const rows = await tx.all(`${SELECT_ROLLOUT} WHERE ${tx.dialect.anyText('name')}`, names);
  const origins = new Map<string, Origin>();
  for (const rollout of rows.map(readRollout)) {
    if (rollout.batch !== rescored.id || rollout.state !== 'ended') continue;
    const { name, last: seq, origin } = rollout;
    const lineage = [...lineageOf(rescored, origin), { rollout: name, to: seq }];
    origins.set(name, { rollout: name, seq, lineage });
  }
  const missing = names.find((name) => !origins.has(name));
  if (missing !== undefined)
    throw new StudioError('conflict', `Batch ${rescores} has no rollout ${missing} that has ended.`);
  return origins;
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

/** Returns the first tries of all attempts of the tasks from index `from`. */
function attemptsOf(from: number, tasks: number, attempts: number): Omit<NewRollout, 'name'>[] {
  return Array.from({ length: tasks * attempts }, (_none, index) => ({
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
