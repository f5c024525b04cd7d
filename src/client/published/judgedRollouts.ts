/** Finds the stored rollouts that verifiers judge. */
import type { Api } from '../../protocol/api.ts';
import { batchTasks } from '../batchTasks.ts';
import type { EditedVerifiers } from './editedVerifiers.ts';
import { codeWorldOf } from './passing.ts';

/** Batches that are looked at. */
const NEWEST = 20;
/** The newest rollouts are enough to see what an edit changes. */
const MAX_ROLLOUTS = 200;

/** Returns the names of the scenarios of batches: by default, of the newest ones. */
export async function scenariosOfBatches(
  api: Api,
  batches: ReadonlySet<string> | undefined,
  signal: AbortSignal,
): Promise<Set<string>> {
  const rows =
    batches === undefined
      ? (await api.batches({ limit: NEWEST }, signal)).batches
      : await Promise.all([...batches].map((batch) => api.batch(batch, signal)));
  const worlds = await Promise.all(rows.map((row) => codeWorldOf(api, row, signal)));
  return new Set(worlds.flatMap((world) => Object.keys(world?.scenarios ?? {})));
}

/** Returns the newest rollouts with a result that verifiers judge, those of the newest batch first. */
export async function judgedRollouts(api: Api, edited: EditedVerifiers, signal: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  const { batches } = await api.batches({ limit: NEWEST }, signal);
  for (const row of batches) {
    const world = await codeWorldOf(api, row, signal);
    if (world === undefined || !edited.isFor(world)) continue;
    const judged = new Set<number>();
    let index = 0;
    for await (const task of batchTasks(api, row.batch, signal)) {
      if (edited.judges(task)) judged.add(index);
      index++;
    }
    if (judged.size === 0) continue;
    for await (const rollout of api.allRollouts(row.batch, { all: 1 }, signal)) {
      const { status } = rollout.progress;
      if (!judged.has(rollout.task_index) || !rollout.settles || rollout.duplicate_of !== undefined) continue;
      if (status !== 'done' && status !== 'truncated') continue;
      found.push(rollout.rollout);
      if (found.length === MAX_ROLLOUTS) return found;
    }
  }
  return found;
}
