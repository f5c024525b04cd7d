/** Reads the rows of a batch from any position, with their tasks if a condition needs them. */
import { z } from 'zod';
import type { Api } from '../../protocol/api.ts';
import { causeOf } from '../../trace/cause.ts';
import { type Outcome, outcomeOf } from '../../trace/outcome.ts';
import { rowEnvironment } from '../../trace/query/environment.ts';
import type { Query } from '../../trace/query.ts';
import type { ErrorClass } from '../../trace/schema.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import type { TaskRecord } from '../../trace/task.ts';

const ROWS_AT_ONCE = 500;
const TASKS_AT_ONCE = 200;

/** A position in the rows of a batch: a server page and the number of processed rows. */
export const rowPlace = z.object({ after: z.string().optional(), skip: z.number().int().min(0) });
export type RowPlace = z.infer<typeof rowPlace>;

interface PlacedRow {
  readonly row: RolloutRow;
  readonly place: RowPlace;
  /** Next position, or undefined for the last row. */
  readonly next: RowPlace | undefined;
}

/** Yields the rows from a position, with the newest try of each attempt. */
export async function* rowsFrom(
  api: Api,
  batch: string,
  filter: { readonly task?: string | undefined; readonly attempt?: number | undefined },
  start: RowPlace | undefined,
  signal: AbortSignal,
): AsyncGenerator<PlacedRow> {
  const { task, attempt } = filter;
  const query = {
    ...(task === undefined ? {} : { task }),
    ...(attempt === undefined ? {} : { attempt }),
    limit: ROWS_AT_ONCE,
  };
  let place: RowPlace | undefined = start ?? { skip: 0 };
  while (place !== undefined) {
    const { after, skip }: RowPlace = place;
    const at = (index: number): RowPlace => ({ ...(after === undefined ? {} : { after }), skip: index });
    const page = await api.rollouts(batch, { ...query, ...(after === undefined ? {} : { after }) }, signal);
    const behind: RowPlace | undefined = page.next === undefined ? undefined : { after: page.next, skip: 0 };
    for (const [index, row] of page.rollouts.entries()) {
      if (index < skip) continue;
      yield { row, place: at(index), next: index + 1 < page.rollouts.length ? at(index + 1) : behind };
    }
    place = behind;
  }
}

/** Reads the tasks of a batch in pages on demand. */
export class Tasks {
  readonly #api: Api;
  readonly #batch: string;
  readonly #stretches = new Map<number, Promise<readonly TaskRecord[]>>();

  constructor(api: Api, batch: string) {
    this.#api = api;
    this.#batch = batch;
  }

  async get(index: number, signal: AbortSignal): Promise<TaskRecord | undefined> {
    const first = index - (index % TASKS_AT_ONCE);
    let stretch = this.#stretches.get(first);
    if (stretch === undefined) {
      stretch = this.#api
        .tasks(this.#batch, { limit: TASKS_AT_ONCE, ...(first === 0 ? {} : { after: first - 1 }) }, signal)
        .then(({ tasks }) => tasks);
      this.#stretches.set(first, stretch);
    }
    return (await stretch)[index - first];
  }
}

interface RowFilter {
  readonly outcome?: Outcome | undefined;
  readonly cause?: string | undefined;
  readonly error_class?: ErrorClass | undefined;
  readonly tool?: string | undefined;
}

/** Returns whether a row matches a filter. */
export function fits(row: RolloutRow, { outcome, cause, error_class: errorClass, tool }: RowFilter): boolean {
  return (
    (outcome === undefined || outcomeOf(row) === outcome) &&
    (cause === undefined || causeOf(row)?.text === cause) &&
    (errorClass === undefined || row.progress.error_class === errorClass) &&
    (tool === undefined || row.progress.tools.includes(tool))
  );
}

/** Returns whether a row matches a condition or words. */
export async function rowMatches(query: Query, row: RolloutRow, tasks: Tasks, signal: AbortSignal): Promise<boolean> {
  return query.matches(rowEnvironment(row, await tasks.get(row.task_index, signal))).matched;
}
