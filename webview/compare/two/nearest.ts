/** Chooses the two attempts that are shown first. */
import type { ComparedAttempt } from '../../../src/trace/align/attempt.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { splitAmong, splitCandidates } from '../../data/split.ts';

interface Compared {
  readonly rows: readonly RolloutRow[];
  readonly models: readonly TrajectoryModel[];
}

interface Nearest {
  readonly index: number;
  /** Why it was chosen. */
  readonly why: 'nearest passed' | 'highest reward';
}

/** Returns the attempt to show on the left: `rollout`, else the first one that did not pass, else the first. */
export function leftOf(attempts: readonly ComparedAttempt[], rollout: string | undefined): number {
  const opened = attempts.findIndex((attempt) => attempt.rollout === rollout);
  if (opened >= 0) return opened;
  return Math.max(
    0,
    attempts.findIndex(({ passed }) => passed === false),
  );
}

/** Returns the attempts that must be read to show `own` next to its nearest one: `nearestTo` reads no others. */
export function neededFor(own: RolloutRow, rows: readonly RolloutRow[]): RolloutRow[] {
  const best = highestReward(own, rows);
  return [own, ...candidatesFor(own, rows).flat(), ...(best === undefined ? [] : [best])];
}

/**
 * Returns the passed attempt that the verdict of `of` names, from the later batch if there are two; without a passed
 * one, the attempt with the highest reward.
 */
export function nearestTo(of: number, { rows, models }: Compared): Nearest | undefined {
  const [own, model] = [rows[of], models[of]];
  if (own === undefined || model === undefined) return undefined;
  const indexOf = (rollout: string): number => rows.findIndex((row) => row.rollout === rollout);
  for (const candidates of candidatesFor(own, rows)) {
    const split = splitAmong(model, candidates, (rollout) => models[indexOf(rollout)]?.events ?? []);
    if (split !== undefined) return { index: indexOf(split.other.rollout), why: 'nearest passed' };
  }
  const best = highestReward(own, rows);
  return best === undefined ? undefined : { index: rows.indexOf(best), why: 'highest reward' };
}

/** Returns the passed attempts to compare with, by batch, starting with the other one. */
function candidatesFor(own: RolloutRow, rows: readonly RolloutRow[]): RolloutRow[][] {
  return [...Map.groupBy(rows, (row) => row.batch).values()]
    .sort((a, b) => Number(a[0]?.batch === own.batch) - Number(b[0]?.batch === own.batch))
    .map((batch) => splitCandidates(own.rollout, batch.includes(own) ? batch : [...batch, { ...own, attempt: -1 }]));
}

function highestReward(own: RolloutRow, rows: readonly RolloutRow[]): RolloutRow | undefined {
  const reward = (row: RolloutRow): number => row.progress.reward ?? Number.NEGATIVE_INFINITY;
  return rows.filter((row) => row !== own).sort((a, b) => reward(b) - reward(a))[0];
}

/** Returns the one of `members` that shares the most first actions with `of`; undefined without another one. */
export function nearestIn(
  members: readonly number[],
  of: number,
  attempts: readonly ComparedAttempt[],
): number | undefined {
  const common = (index: number): number => {
    const [a, b] = [attempts[of]?.actions ?? [], attempts[index]?.actions ?? []];
    const at = a.findIndex(({ key }, position) => key !== b[position]?.key);
    return at < 0 ? a.length : at;
  };
  return members.filter((index) => index !== of).toSorted((a, b) => common(b) - common(a))[0];
}
