/** Rows as if the verdict of another scorer were their reward, and the way back to what was recorded. */
import type { RolloutRow } from '../../src/trace/summary.ts';
import { disagrees, rowByScorer } from '../../src/trace/verdicts.ts';

const recorded = new WeakMap<RolloutRow, RolloutRow>();

/** Returns the row as the scorer judges it; the row itself for the reward. */
export function judgedRow(row: RolloutRow, scorer: string): RolloutRow {
  const judged = rowByScorer(row, scorer);
  if (judged !== row) recorded.set(judged, row);
  return judged;
}

/** Returns the row with its own reward. */
export function recordedRow(row: RolloutRow): RolloutRow {
  return recorded.get(row) ?? row;
}

/** Returns whether the reward and the later verdicts contradict each other, whichever of them the row shows. */
export function isDisputed(row: RolloutRow | undefined): boolean {
  return row?.progress.verdicts !== undefined && disagrees(recordedRow(row));
}
