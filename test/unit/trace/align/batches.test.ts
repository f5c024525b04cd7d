// Two batches side by side.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { compareBatches } from '../../../../src/trace/align/batches.ts';
import type { ReportInput } from '../../../../src/trace/statistics.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../../src/trace/summary.ts';

/** `{ task: '+-?' }`: passed, failed, not scored. */
function batch(id: string, tasks: Readonly<Record<string, string>>): ReportInput {
  return {
    batch: id,
    rows: Object.entries(tasks).flatMap(([task, marks], index) =>
      Array.from(
        marks,
        (mark, at): RolloutRow => ({
          rollout: `${id}${task}${at}`,
          batch: id,
          task,
          task_index: index,
          attempt: at + 1,
          try: 1,
          state: 'ended',
          epoch: 1,
          last: 9,
          settles: true,
          rev: 1,
          progress: {
            ...EMPTY_PROGRESS,
            status: 'done',
            passed: mark === '?' ? null : mark === '+',
            reward: mark === '?' ? null : mark === '+' ? 1 : 0,
          },
        }),
      ),
    ),
  };
}

it('reports which tasks changed, the lost ones first, and the paired difference', () => {
  const { tasks, comparison } = compareBatches(
    batch('b1', { gained: '--', lost: '+-', better: '+-', worse: '++', same: '+-', blind: '++', gone: '+' }),
    batch('b2', { gained: '-+', lost: '--', better: '++', worse: '-+', same: '-+', blind: '??', fresh: '+' }),
  );
  assert.deepEqual(
    tasks.map(({ task, change }) => `${task} ${change}`),
    ['lost lost', 'gained gained', 'worse worse', 'better better', 'same same', 'blind unknown'],
  );
  assert.deepEqual(tasks[0], {
    task: 'lost',
    before: { passed: 1, scored: 2, rate: 0.5 },
    after: { passed: 0, scored: 2, rate: 0 },
    change: 'lost',
  });
  assert.deepEqual([comparison.only_in_baseline, comparison.only_here], [['gone'], ['fresh']]);
  assert.equal(comparison.pass_at?.['1']?.difference, 0);
});
