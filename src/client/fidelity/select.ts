/** Selects recorded rollouts by references. */
import { StudioError } from '../../common/errors.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { batchId, parseReference, resolveRollout, taskOf } from '../reference.ts';

interface RecordedRollouts {
  readonly batch: BatchRow;
  readonly rows: readonly RolloutRow[];
}

/**
 * Returns the rollouts of batches, tasks (`BATCH/TASK`), attempts, and rollouts, at most `most`. All belong to one
 * batch. Throws StudioError `usage` if there are none.
 */
export async function recordedRollouts(
  api: Api,
  references: readonly string[],
  most: number | undefined,
  signal: AbortSignal,
): Promise<RecordedRollouts> {
  const byRollout = new Map<string, RolloutRow>();
  for (const text of references) for (const row of await rowsOf(api, text, signal)) byRollout.set(row.rollout, row);
  const [first] = byRollout.values();
  if (first === undefined)
    throw new StudioError('usage', 'No rollout has ended, so there is nothing to compare with.', {
      hint: 'Wait until some have ended.',
    });
  const other = [...byRollout.values()].find(({ batch }) => batch !== first.batch);
  if (other !== undefined)
    throw new StudioError('usage', `The rollouts belong to the batches ${first.batch} and ${other.batch}.`, {
      hint: 'Compare one batch at a time: their agents differ.',
    });
  const batch = await api.batch(first.batch, signal);
  if (batch.rescores !== undefined)
    throw new StudioError('usage', `Batch ${batch.batch} only scores the rollouts of batch ${batch.rescores}.`, {
      hint: `Choose rollouts of batch ${batch.rescores}.`,
    });
  return { batch, rows: [...byRollout.values()].slice(0, most) };
}

/** Returns the rollouts of a reference: one that is named, and of others those that settled their attempts. */
async function rowsOf(api: Api, text: string, signal: AbortSignal): Promise<RolloutRow[]> {
  const task = isAttempt(text) ? undefined : taskOf(text);
  if (task === undefined) {
    const reference = parseReference(text);
    if (reference.kind !== 'batch')
      return [(await api.rollout(await resolveRollout(api, reference, signal), signal)).row];
    return await settled(api, await batchId(api, reference.batch, signal), {}, signal);
  }
  const batch = await batchId(api, task.batch, signal);
  const rows = await settled(api, batch, { task: task.task }, signal);
  if (rows.length > 0) return rows;
  throw new StudioError('not_found', `Batch ${batch} has no attempts of task “${task.task}” with a result.`, {
    hint: `List its tasks with rollout show ${batch}.`,
  });
}

function isAttempt(text: string): boolean {
  return /\/\d+(?::\d+|@\d+)?$/.test(text);
}

async function settled(
  api: Api,
  batch: string,
  of: { readonly task?: string },
  signal: AbortSignal,
): Promise<RolloutRow[]> {
  const rows = await Array.fromAsync(api.allRollouts(batch, { ...of, all: 1 }, signal));
  return rows.filter(
    ({ settles, progress }) => settles && (progress.status === 'done' || progress.status === 'truncated'),
  );
}
