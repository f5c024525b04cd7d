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
  if (state !== 'ended') return state;
  switch (progress.status) {
    case 'infrastructure':
      return 'infrastructure';
    case 'cancelled':
      return 'cancelled';
    case 'truncated':
      return progress.passed === true ? 'passed' : 'truncated';
    case 'done':
    case undefined:
      return progress.passed === true ? 'passed' : progress.passed === false ? 'failed' : 'unscored';
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
