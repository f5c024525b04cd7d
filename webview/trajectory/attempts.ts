/** Finds the previous and next attempts: first in the same task, then in the neighboring tasks. */
import { attemptRow } from '../../src/trace/outcome.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import type { TrajectoryData } from '../data/trajectoryData.ts';

/** Rows of the last task, so that the next attempt has its neighbors immediately. */
let handedOn: readonly RolloutRow[] = [];

/** Returns the rollout of the next or previous attempt; undefined at the end of the batch. */
export async function neighbour(data: TrajectoryData, distance: 1 | -1): Promise<string | undefined> {
  const known =
    data.attempts.length > 0 ? data.attempts : handedOn.some((row) => row.rollout === data.rollout) ? handedOn : [];
  const own =
    known.find((row) => row.rollout === data.rollout) ?? data.info?.row ?? (await data.api.rollout(data.rollout)).row;
  // A key may be pressed before the page has read the other attempts.
  const rows = known.length > 0 ? known : await rowsOf(data, own.batch, own.task);
  handedOn = rows;
  const attempts = attemptRows(rows);
  const at = attempts.findIndex((row) => row.attempt === own.attempt);
  return attempts[at + distance]?.rollout ?? otherTask(data, own, distance);
}

/** One row for each attempt, in order. */
function attemptRows(rows: readonly RolloutRow[]): RolloutRow[] {
  const byAttempt = new Map<number, RolloutRow[]>();
  for (const row of rows) byAttempt.set(row.attempt, [...(byAttempt.get(row.attempt) ?? []), row]);
  return [...byAttempt.keys()]
    .sort((a, b) => a - b)
    .flatMap((attempt) => attemptRow(byAttempt.get(attempt) ?? []) ?? []);
}

async function otherTask(data: TrajectoryData, own: RolloutRow, distance: 1 | -1): Promise<string | undefined> {
  const index = own.task_index + distance;
  if (index < 0) return undefined;
  const { tasks } = await data.api.tasks(own.batch, { limit: 1, ...(index === 0 ? {} : { after: index - 1 }) });
  const task = tasks[0];
  if (task === undefined) return undefined;
  const rows = await rowsOf(data, own.batch, task.id);
  handedOn = rows;
  return attemptRows(rows).at(distance === 1 ? 0 : -1)?.rollout;
}

async function rowsOf({ api }: TrajectoryData, batch: string, task: string): Promise<readonly RolloutRow[]> {
  const rows: RolloutRow[] = [];
  for await (const row of api.allRollouts(batch, { task })) rows.push(row);
  return rows;
}
