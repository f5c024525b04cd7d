/** Finds what to launch to repeat a batch. Does not depend on VS Code. */
import { StudioError } from '../../common/errors.ts';
import { type Submission, submission as submissionSchema } from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { type Outcome, outcomeOf } from '../../trace/outcome.ts';
import type { ChosenTasks } from './plan.ts';

/** Lost and cancelled attempts did not fail; Retry Unsettled handles them. */
const FAILED: ReadonlySet<Outcome> = new Set(['failed', 'truncated']);

/** Reads the submission of a batch. Throws StudioError `unsupported` for imported batches, which have no file. */
export async function submissionOf(api: Api, row: BatchRow, signal?: AbortSignal): Promise<Submission> {
  if (row.imported)
    throw new StudioError('unsupported', `${row.name} was imported and has no batch file to launch.`, {
      hint: 'Create a batch file for its tasks with Rollout: New Batch….',
    });
  return submissionSchema.parse(JSON.parse(new TextDecoder().decode(await api.getBlob(row.submission, signal))));
}

/** Returns the tasks with a failed attempt, in the order of the batch. */
export async function failedTasks(api: Api, batch: string, signal?: AbortSignal): Promise<string[]> {
  const failed = new Set<string>();
  for await (const row of api.allRollouts(batch, {}, signal)) {
    if (FAILED.has(outcomeOf(row))) failed.add(row.task);
  }
  return [...failed];
}

/** Returns the IDs of all tasks in the batch, because the file may have changed since. */
export async function allTasks(api: Api, batch: string, signal?: AbortSignal): Promise<ChosenTasks> {
  const ids: string[] = [];
  let after: number | undefined;
  do {
    const page = await api.tasks(batch, { limit: 1000, ...(after === undefined ? {} : { after }) }, signal);
    ids.push(...page.tasks.map((task) => task.id));
    after = page.next;
  } while (after !== undefined);
  if (ids.length === 0) throw new StudioError('conflict', 'This batch has no tasks.');
  return { kind: 'some', ids };
}
