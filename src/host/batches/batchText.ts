/** A batch in few words. Data only. */
import type { BatchRow } from '../../protocol/client.ts';

/** Attempts that need nothing more, and all of them. */
export function batchProgress({ counts, tasks, attempts }: BatchRow): { readonly done: number; readonly all: number } {
  const open = counts.running + counts.held + counts.queued;
  return { done: tasks * attempts - open, all: tasks * attempts };
}

export function isLive({ state }: BatchRow): boolean {
  return state === 'running' || state === 'open';
}

/** `running 31/96`, `ended · 44 of 96 passed`. */
export function batchText(row: BatchRow): string {
  const { done, all } = batchProgress(row);
  return row.state === 'ended' ? `ended · ${row.counts.passed} of ${all} passed` : `${row.state} ${done}/${all}`;
}
