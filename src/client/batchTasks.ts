import type { Api } from '../protocol/api.ts';
import type { TaskRecord } from '../trace/task.ts';

const PAGE = 1_000;

/** Reads the tasks of a batch, in the order of their indexes. */
export async function* batchTasks(api: Api, batch: string, signal: AbortSignal): AsyncGenerator<TaskRecord> {
  let after: number | undefined;
  do {
    const page = await api.tasks(batch, { limit: PAGE, ...(after === undefined ? {} : { after }) }, signal);
    yield* page.tasks;
    after = page.next;
  } while (after !== undefined);
}
