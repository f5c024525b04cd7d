/** The tasks of a batch whose groups trainers request. They have no attempts: each group repeats one of them. */
import { StudioError } from '../../../common/errors.ts';
import { canonicalJson } from '../../../common/json.ts';
import { blobsOfTask, type TaskRecord } from '../../../trace/task.ts';
import { int, quote, stored, text } from '../../sql/row.ts';
import { DATASET_TASK } from '../../sql/schema.ts';
import type { Reader, Transaction } from '../../sql/sql.ts';
import type { Batch } from '../batchState.ts';
import { addBlobRefs } from '../blobRefs.ts';

/** Adds tasks to the dataset of a locked batch; existing ones are skipped. Throws `conflict`. */
export async function addDatasetTasks(
  tx: Transaction,
  batch: Batch,
  from: number,
  tasks: readonly TaskRecord[],
): Promise<void> {
  const count = await tx.get('SELECT count(*) AS n FROM dataset_task WHERE batch = ?', batch.id);
  const next = count === undefined ? 0 : int(count, 'n');
  if (from > next)
    throw new StudioError('conflict', `Tasks ${next} to ${from - 1} of batch ${batch.name} are missing.`, {
      details: { next },
    });
  const existing = await tx.all(
    'SELECT idx, record FROM dataset_task WHERE batch = ? AND idx >= ? AND idx < ? ORDER BY idx',
    batch.id,
    from,
    from + tasks.length,
  );
  existing.forEach((row, index) => {
    if (canonicalJson(stored(text(row, 'record'))) !== canonicalJson(tasks[index]))
      throw new StudioError('conflict', `Task ${int(row, 'idx')} of the batch already exists with different content.`);
  });
  const added = tasks.slice(existing.length);
  if (added.length === 0) return;
  if (batch.sealed) throw new StudioError('conflict', `Batch ${batch.name} is sealed, so no tasks can be added.`);
  const names = new Set<string>();
  for (const row of await tx.all(
    `SELECT name FROM dataset_task WHERE batch = ? AND ${tx.dialect.anyText('name')}`,
    batch.id,
    added.map(({ id }) => quote(id)),
  ))
    names.add(text(row, 'name'));
  for (const { id } of added) {
    if (names.has(quote(id)))
      throw new StudioError('conflict', `Batch ${batch.name} already has a task ${JSON.stringify(id)}.`, {
        hint: 'Use a unique ID for every task.',
      });
    names.add(quote(id));
  }
  await tx.insert(
    DATASET_TASK,
    ['batch', 'idx', 'name', 'record'],
    added.map((task, index) => [batch.id, next + index, quote(task.id), JSON.stringify(task)]),
  );
  await addBlobRefs(tx, batch.id, [...new Set(added.flatMap(blobsOfTask))]);
}

/** Returns tasks of the dataset by ID. */
export async function datasetTasks(
  db: Reader,
  batch: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, TaskRecord>> {
  if (ids.length === 0) return new Map();
  const rows = await db.all(
    `SELECT record FROM dataset_task WHERE batch = ? AND ${db.dialect.anyText('name')}`,
    batch,
    [...new Set(ids)].map(quote),
  );
  const tasks = rows.map((row) => stored<TaskRecord>(text(row, 'record')));
  return new Map(tasks.map((task) => [task.id, task]));
}
