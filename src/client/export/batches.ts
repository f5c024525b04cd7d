/** Reads the attempts of batches for an export, in the order in which they are written. */
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { SelectedFrom } from '../../trace/selection/selection.ts';
import type { TaskRecord } from '../../trace/task.ts';

export interface BatchAttempts {
  readonly batches: readonly BatchRow[];
  /** By batch as given, task, and number. */
  readonly attempts: readonly SelectedFrom[];
}

const TASKS = 1_000;

/** `tasks`: whether to read the tasks as well. A batch that is given twice is read once. */
export async function readBatches(
  api: Api,
  ids: readonly string[],
  tasks: boolean,
  signal: AbortSignal,
): Promise<BatchAttempts> {
  const batches: BatchRow[] = [];
  const attempts: SelectedFrom[] = [];
  for (const id of new Set(ids)) {
    const [batch, rows, records] = await Promise.all([
      api.batch(id, signal),
      Array.fromAsync(api.allRollouts(id, {}, signal)),
      tasks ? readTasks(api, id, signal) : [],
    ]);
    batches.push(batch);
    rows.sort((a, b) => a.task_index - b.task_index || a.attempt - b.attempt);
    for (const row of rows) attempts.push({ row, task: records[row.task_index] });
  }
  return { batches, attempts };
}

async function readTasks(api: Api, batch: string, signal: AbortSignal): Promise<TaskRecord[]> {
  const all: TaskRecord[] = [];
  let after: number | undefined;
  do {
    const { tasks, next } = await api.tasks(batch, { limit: TASKS, ...(after === undefined ? {} : { after }) }, signal);
    all.push(...tasks);
    after = next;
  } while (after !== undefined);
  return all;
}
