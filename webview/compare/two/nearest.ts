/** Chooses the two attempts that are shown first. */
import type { ComparedAttempt } from '../../../src/trace/align/attempt.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { splitAmong, splitCandidates } from '../../data/split.ts';

interface Compared {
  readonly attempts: readonly ComparedAttempt[];
  readonly rows: readonly RolloutRow[];
  readonly models: readonly TrajectoryModel[];
}

interface Nearest {
  readonly index: number;
  /** Why it was chosen. */
  readonly why: 'nearest passed' | 'highest reward';
}

/** Returns the first attempt that did not pass, else the first. */
export function firstFailed(attempts: readonly ComparedAttempt[]): number {
  return Math.max(
    0,
    attempts.findIndex(({ passed }) => passed === false),
  );
}

/**
 * Returns the passed attempt that the verdict of `of` names, from the later batch if there are two; without a passed
 * one, the attempt with the highest reward.
 */
export function nearestTo(of: number, { attempts, rows, models }: Compared): Nearest | undefined {
  const [own, model] = [rows[of], models[of]];
  if (own === undefined || model === undefined) return undefined;
  const indexOf = (rollout: string): number => rows.findIndex((row) => row.rollout === rollout);
  const batches = [...Map.groupBy(rows, (row) => row.batch).values()].sort(
    (a, b) => Number(a[0]?.batch === own.batch) - Number(b[0]?.batch === own.batch),
  );
  for (const batch of batches) {
    const candidates = splitCandidates(own.rollout, batch.includes(own) ? batch : [...batch, { ...own, attempt: -1 }]);
    const split = splitAmong(model, candidates, (rollout) => models[indexOf(rollout)]?.events ?? []);
    if (split !== undefined) return { index: indexOf(split.other.rollout), why: 'nearest passed' };
  }
  const best = attempts
    .map((attempt, index) => ({ index, reward: attempt.reward ?? Number.NEGATIVE_INFINITY }))
    .filter(({ index }) => index !== of)
    .sort((a, b) => b.reward - a.reward)[0];
  return best === undefined ? undefined : { index: best.index, why: 'highest reward' };
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
