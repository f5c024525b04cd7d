/** Summarizes a batch in a few words. */
import type { BatchRow } from '../../protocol/client.ts';
import { attemptCount } from '../../trace/outcome.ts';

/** Returns the number of settled attempts and the total. */
export function batchProgress({ counts }: BatchRow): { readonly done: number; readonly all: number } {
  const all = attemptCount({ counts });
  return { done: all - counts.running - counts.held - counts.queued, all };
}

export function isLive({ state }: BatchRow): boolean {
  return state === 'running' || state === 'open';
}

/** Returns e.g. `running 31/96, 1 held` or `ended · 44 of 96 passed`. */
export function batchText(row: BatchRow): string {
  const { done, all } = batchProgress(row);
  if (row.state === 'ended') return `ended · ${row.counts.passed} of ${all} passed`;
  return `${row.state} ${done}/${all}${heldSuffix(row.counts.held)}`;
}

/** Returns e.g. `, 1 held`; nothing for 0. */
export function heldSuffix(held: number): string {
  return held === 0 ? '' : `, ${held} held`;
}

/** Returns the batches without those of debuggers: their figures say nothing about the agent. */
export function withoutDebugRuns(rows: readonly BatchRow[]): readonly BatchRow[] {
  return rows.filter(({ debug }) => debug !== true);
}
