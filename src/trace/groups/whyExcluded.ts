import type { RolloutRow } from '../summary.ts';

/**
 * Returns why an attempt must not change the statistics of its group; undefined if it counts. Exports, groups for
 * trainers, pages, and reports all decide by this. `row`: the row that counts for the attempt.
 */
export function whyExcludedOf({ state, progress }: Pick<RolloutRow, 'state' | 'progress'>): string | undefined {
  if (progress.touched) return 'a person changed it';
  if (state !== 'ended') return 'it has not ended';
  if (progress.status === 'infrastructure') return 'it was lost to infrastructure';
  if (progress.status === 'cancelled') return 'it was cancelled';
  if (!Number.isFinite(progress.reward)) return 'nobody can say what it is worth';
  if (progress.replaced === true) return 'its weights were too old, and another took its place';
  return undefined;
}
