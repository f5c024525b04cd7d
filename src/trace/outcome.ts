/** The outcome of an attempt, used in every list, grid, tree, and report line. */
import type { RolloutRow } from './summary.ts';

export const OUTCOMES = [
  'passed',
  'failed',
  'truncated',
  'infrastructure',
  'cancelled',
  'unscored',
  'running',
  'held',
  'queued',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Returns the outcome. A truncated attempt that passed is `passed`; any other is `truncated`, not `failed`. */
export function outcomeOf({ state, progress }: Pick<RolloutRow, 'state' | 'progress'>): Outcome {
  return state === 'ended' ? endOutcome(progress) : state;
}

/** Returns the outcome of a rollout that ended. */
export function endOutcome({ status, passed }: Pick<RolloutRow['progress'], 'status' | 'passed'>): Outcome {
  switch (status) {
    case 'infrastructure':
      return 'infrastructure';
    case 'cancelled':
      return 'cancelled';
    case 'truncated':
      return passed === true ? 'passed' : 'truncated';
    case 'done':
    case undefined:
      return passed === true ? 'passed' : passed === false ? 'failed' : 'unscored';
  }
}

/** Returns the row that counts for an attempt: of the try that settled it, else of the newest one. */
export function attemptRow(rows: readonly RolloutRow[]): RolloutRow | undefined {
  return (
    rows.find((row) => row.settles) ??
    rows.reduce<RolloutRow | undefined>(
      (newest, row) => (newest === undefined || row.try > newest.try ? row : newest),
      undefined,
    )
  );
}

/** The state or outcome of an attempt, as batches count it: each attempt in exactly one of these. */
export const COUNT_NAMES = [
  'passed',
  'failed',
  'unscored',
  'cancelled',
  'infrastructure',
  'running',
  'held',
  'queued',
] as const;
export type CountName = (typeof COUNT_NAMES)[number];

/** Returns the number of attempts of a batch: each is in exactly one count. */
export function attemptCount({ counts }: { readonly counts: Readonly<Record<CountName, number>> }): number {
  return COUNT_NAMES.reduce((sum, name) => sum + counts[name], 0);
}

/** Returns how many attempts each task gets: `4`, or `4–32` if that depends on their outcomes. */
export function attemptsText({
  attempts,
  adaptive,
}: {
  readonly attempts: number;
  readonly adaptive?: { readonly least: number } | undefined;
}): string {
  return adaptive === undefined ? attempts.toLocaleString('en-US') : `${adaptive.least}–${attempts}`;
}

/** Returns what an attempt counts as, by the row that counts for it. The store and every view count with this. */
export function countNameOf({
  state,
  settles,
  progress,
}: Pick<RolloutRow, 'state' | 'settles' | 'progress'>): CountName {
  if (state !== 'ended') return state;
  if (settles) {
    if (typeof progress.reward !== 'number' || typeof progress.passed !== 'boolean') return 'unscored';
    return progress.passed ? 'passed' : 'failed';
  }
  // A touched rollout whose batch was stopped gets no new try, so it is never scored.
  return progress.status === 'infrastructure' ? 'infrastructure' : 'cancelled';
}
