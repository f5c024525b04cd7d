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

/** A truncated attempt that passed is passed; one that did not is told apart from a plain failure. */
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

/** Of the tries at one attempt, the one that counts: it settled the attempt, else it is the newest. */
export function counting(rows: readonly RolloutRow[]): RolloutRow | undefined {
  return (
    rows.find((row) => row.settles) ??
    rows.reduce<RolloutRow | undefined>(
      (newest, row) => (newest === undefined || row.try > newest.try ? row : newest),
      undefined,
    )
  );
}
