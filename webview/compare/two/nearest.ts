/** Chooses the two attempts that are shown first. */
import type { ComparedAttempt } from '../../../src/trace/align/attempt.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { splitCandidates } from '../../data/split.ts';

interface Compared {
  readonly attempts: readonly ComparedAttempt[];
  readonly rows: readonly RolloutRow[];
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
 * Returns the passed attempt with which `of` has the most equal actions at the beginning, from the later batch if there
 * are two; without a passed one, the attempt with the highest reward.
 */
export function nearestTo(of: number, { attempts, rows }: Compared): Nearest | undefined {
  const own = rows[of];
  if (own === undefined) return undefined;
  const others = [...Map.groupBy(rows, (row) => row.batch).values()].sort(
    (a, b) => Number(a[0]?.batch === own.batch) - Number(b[0]?.batch === own.batch),
  );
  for (const batch of others) {
    const [first, ...rest] = splitCandidates(
      own.rollout,
      batch.includes(own) ? batch : [...batch, { ...own, attempt: -1 }],
    )
      .map((row) => rows.findIndex(({ rollout }) => rollout === row.rollout))
      .map((index) => ({ index, common: common(attempts[of], attempts[index]) }));
    if (first !== undefined)
      return { index: rest.reduce((a, b) => (b.common > a.common ? b : a), first).index, why: 'nearest passed' };
  }
  const best = attempts
    .map((attempt, index) => ({ index, reward: attempt.reward ?? Number.NEGATIVE_INFINITY }))
    .filter(({ index }) => index !== of)
    .sort((a, b) => b.reward - a.reward)[0];
  return best === undefined ? undefined : { index: best.index, why: 'highest reward' };
}

function common(a: ComparedAttempt | undefined, b: ComparedAttempt | undefined): number {
  let count = 0;
  while (a?.actions[count] !== undefined && a.actions[count]?.key === b?.actions[count]?.key) count += 1;
  return count;
}
