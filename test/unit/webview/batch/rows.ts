/** Rows of rollouts for the tests of the batch page. */
import { EMPTY_PROGRESS, type Progress, type RolloutRow } from '../../../../src/trace/summary.ts';

export function aRow(
  changes: Partial<Omit<RolloutRow, 'progress'>> & { readonly progress?: Partial<Progress> } = {},
): RolloutRow {
  const { progress, ...rest } = changes;
  return {
    rollout: 'r1',
    batch: 'b1',
    task: 'renew-late',
    task_index: 0,
    attempt: 1,
    try: 1,
    state: 'ended',
    epoch: 1,
    last: 10,
    settles: true,
    rev: 1,
    ...rest,
    progress: { ...EMPTY_PROGRESS, ...progress },
  };
}

export const passed = (changes: Partial<RolloutRow> = {}): RolloutRow =>
  aRow({ ...changes, progress: { status: 'done', passed: true, reward: 1, steps: 5, ...changes.progress } });
export const failed = (changes: Partial<RolloutRow> = {}): RolloutRow =>
  aRow({ ...changes, progress: { status: 'done', passed: false, reward: 0, steps: 8, ...changes.progress } });
