/** What to launch for a batch once more. Knows nothing of VS Code. */
import { StudioError } from '../../common/errors.ts';
import { type Submission, submission as submissionSchema } from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { type Outcome, outcomeOf } from '../../trace/outcome.ts';
import type { ChosenTasks } from './plan.ts';

/** Lost and cancelled attempts did not fail: Retry Unsettled is for them. */
const FAILED: ReadonlySet<Outcome> = new Set(['failed', 'truncated']);

/** What a batch was made of. Throws `unsupported` for an imported one: it has no file to launch. */
export async function submissionOf(api: Api, row: BatchRow, signal?: AbortSignal): Promise<Submission> {
  if (row.imported)
    throw new StudioError('unsupported', `${row.name} was imported: there is no batch file to launch it from.`, {
      hint: 'Write a batch file for its tasks with Rollout: New Batch….',
    });
  return submissionSchema.parse(JSON.parse(new TextDecoder().decode(await api.getBlob(row.submission, signal))));
}

/** The tasks with an attempt that failed, in the batch's order. */
export async function failedTasks(api: Api, batch: string, signal?: AbortSignal): Promise<string[]> {
  const failed = new Set<string>();
  for await (const row of api.allRollouts(batch, {}, signal)) {
    if (FAILED.has(outcomeOf(row))) failed.add(row.task);
  }
  return [...failed];
}

/** All tasks of a batch by their ids: what the file names may have changed since. */
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
