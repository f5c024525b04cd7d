/** Selects attempts of a batch and launches a batch that scores them again. */
import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { rowEnvironment } from '../../trace/query/environment.ts';
import { compileCondition } from '../../trace/query.ts';
import { batchTasks } from '../batchTasks.ts';
import { putSubmission } from '../launch.ts';
import type { ForkPlace } from './forkSubmission.ts';
import { type RescoreSubmission, rescoreSubmission } from './rescoreSubmission.ts';

/** Which attempts of a batch. An empty selection is all of them. */
export interface AttemptSelection {
  readonly tasks?: readonly string[];
  readonly attempts?: readonly number[];
  /** A condition in CEL over the attempt. */
  readonly where?: string | undefined;
}

interface RescoreOptions extends AttemptSelection {
  /** File with the scorer. By default, the batch's own scorer. */
  readonly scorer?: string | undefined;
}

/** A batch that would score attempts again. */
export interface RescorePlan extends RescoreSubmission {
  /** ID of the batch whose attempts are scored again. */
  readonly rescores: string;
  /** Number of attempts, as far as they have ended by now. */
  readonly attempts: number;
  /** The rollouts of the selected attempts; undefined for all. */
  readonly rollouts: readonly string[] | undefined;
}

interface Rescored {
  /** ID of the batch that scores. */
  readonly batch: string;
  /** ID of the batch whose attempts are scored again. */
  readonly rescores: string;
  readonly attempts: number;
  readonly notes: readonly string[];
}

/** Plans the batch. Throws StudioError `usage` if no attempt is selected. */
export async function planRescore(
  api: Api,
  id: string,
  options: RescoreOptions,
  place: ForkPlace,
  signal: AbortSignal,
): Promise<RescorePlan> {
  const row = await api.batch(id, signal);
  const built = await rescoreSubmission(api, row, options.scorer, place, signal);
  const rollouts = await selectRollouts(api, row, { ...options, judges: built.judges }, signal);
  const { passed, failed, unscored } = row.counts;
  return { ...built, rescores: id, rollouts, attempts: rollouts?.length ?? passed + failed + unscored };
}

/** Launches the batch. `by`: who requests it; recorded with the verdicts. */
export async function launchRescore(api: Api, plan: RescorePlan, by: string, signal: AbortSignal): Promise<Rescored> {
  const { rescores, rollouts, secrets, notes } = plan;
  const submission = await putSubmission(api, plan, signal);
  const batch = newId('b');
  const { changed = 0 } = await api.commandBatch(
    rescores,
    {
      command: newId('c'),
      verb: 'rescore',
      by,
      args: {
        batch,
        submission,
        ...(Object.keys(secrets).length === 0 ? {} : { secrets: { ...secrets } }),
        ...(rollouts === undefined ? {} : { rollouts: [...rollouts] }),
      },
    },
    signal,
  );
  return { batch, rescores, attempts: changed, notes };
}

/** Returns the rollouts of the selected attempts that have a result; undefined for all of them. */
async function selectRollouts(
  api: Api,
  { batch }: BatchRow,
  { tasks = [], attempts = [], where, judges }: AttemptSelection & Pick<RescoreSubmission, 'judges'>,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  if (tasks.length === 0 && attempts.length === 0 && where === undefined && judges === undefined) return undefined;
  const condition = where === undefined ? undefined : compileCondition(where);
  const needsTasks = condition !== undefined || judges !== undefined;
  const records = needsTasks ? await Array.fromAsync(batchTasks(api, batch, signal)) : [];
  const rollouts: string[] = [];
  const left = new Set(tasks);
  for await (const row of api.allRollouts(batch, { all: 1 }, signal)) {
    const { task, attempt, settles, progress } = row;
    if (tasks.length > 0 && !tasks.includes(task)) continue;
    left.delete(task);
    if (attempts.length > 0 && !attempts.includes(attempt)) continue;
    if (!settles || (progress.status !== 'done' && progress.status !== 'truncated')) continue;
    const record = records[row.task_index];
    if (judges !== undefined && (record === undefined || !judges(record))) continue;
    if (condition?.matches(rowEnvironment(row, record)).matched === false) continue;
    rollouts.push(row.rollout);
  }
  const [unknown] = left;
  if (unknown !== undefined)
    throw new StudioError('not_found', `Batch ${batch} has no task “${unknown}”.`, {
      hint: `List its tasks with rollout show ${batch}.`,
    });
  if (rollouts.length === 0)
    throw new StudioError('usage', `No attempt of batch ${batch} with a result matches.`, {
      hint: 'Select other tasks, attempts, or another condition.',
    });
  return rollouts;
}
