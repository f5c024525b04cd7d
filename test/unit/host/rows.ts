/** Rows as a server sends them, with the fields that a test needs. */

import type { BatchRow } from '../../../src/protocol/client.ts';
import { EMPTY_PROGRESS, type Progress, type RolloutRow } from '../../../src/trace/summary.ts';

export function rolloutRow(
  row: Partial<Omit<RolloutRow, 'progress'>> & { progress?: Partial<Progress> } = {},
): RolloutRow {
  const { progress, ...rest } = row;
  const { task = 't1', attempt = 1, try: number = 1 } = rest;
  return {
    rollout: `r-${task}-${attempt}-${number}`,
    batch: 'b1',
    task,
    task_index: 0,
    attempt,
    try: number,
    state: 'ended',
    epoch: 1,
    last: 10,
    settles: true,
    rev: 1,
    ...rest,
    progress: { ...EMPTY_PROGRESS, ...progress },
  };
}

/** A scored attempt. */
export function scored(
  task: string,
  attempt: number,
  passed: boolean,
  rest: Parameters<typeof rolloutRow>[0] = {},
): RolloutRow {
  return rolloutRow({
    task,
    attempt,
    ...rest,
    progress: { status: 'done', passed, reward: passed ? 1 : 0, steps: 3, ms: 1000, ...rest.progress },
  });
}

const NONE = { passed: 0, failed: 0, unscored: 0, cancelled: 0, infrastructure: 0, running: 0, held: 0, queued: 0 };

export function batchRow(
  row: Partial<Omit<BatchRow, 'counts'>> & { counts?: Partial<BatchRow['counts']> } = {},
): BatchRow {
  const { counts, ...rest } = row;
  return {
    batch: 'b1',
    name: 'desk',
    created_at: 0,
    state: 'running',
    submission: 'a'.repeat(64),
    tasks: 12,
    attempts: 8,
    truncated: 0,
    steps: 0,
    input_tokens: 0,
    output_tokens: 0,
    imported: false,
    rev: 1,
    last: 1,
    ...rest,
    counts: { ...NONE, ...counts },
  };
}
