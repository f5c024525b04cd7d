/** Summarizes a batch in a few words. */
import type { BatchRow } from '../../protocol/client.ts';

/** Returns the number of settled attempts and the total. */
export function batchProgress({ counts, tasks, attempts }: BatchRow): { readonly done: number; readonly all: number } {
  const open = counts.running + counts.held + counts.queued;
  return { done: tasks * attempts - open, all: tasks * attempts };
}

export function isLive({ state }: BatchRow): boolean {
  return state === 'running' || state === 'open';
}

/** Returns e.g. `running 31/96` or `ended · 44 of 96 passed`. */
export function batchText(row: BatchRow): string {
  const { done, all } = batchProgress(row);
  return row.state === 'ended' ? `ended · ${row.counts.passed} of ${all} passed` : `${row.state} ${done}/${all}`;
}
