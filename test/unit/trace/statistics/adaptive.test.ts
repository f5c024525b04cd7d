// Reports of batches whose tasks get attempts until they are informative or solved.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reportSchema } from '../../../../src/trace/statistics/schema.ts';
import { report } from '../../../../src/trace/statistics.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../../src/trace/summary.ts';

/** `+-!`: passed, failed, lost to infrastructure. */
function rowsOf(tasks: Readonly<Record<string, string>>): RolloutRow[] {
  return Object.entries(tasks).flatMap(([task, marks], index) =>
    Array.from(marks, (mark, at): RolloutRow => {
      const isLost = mark === '!';
      const passed = mark === '+';
      return {
        rollout: `r${index}-${at}`,
        batch: 'b1',
        task,
        task_index: index,
        attempt: at + 1,
        try: 1,
        state: 'ended',
        epoch: 1,
        last: 9,
        settles: !isLost,
        rev: 1,
        progress: {
          ...EMPTY_PROGRESS,
          ...(isLost ? { status: 'infrastructure' } : { status: 'done', passed, reward: passed ? 1 : 0 }),
        },
      };
    }),
  );
}

const adaptive = { least: 2, most: 6, until: 'informative' } as const;

describe('the report of a batch with attempts until tasks are informative', () => {
  const rows = rowsOf({ easy: '++++++', mixed: '+-', hard: '---!-+', lost: '!-+' });
  const result = reportSchema.parse(report({ batch: 'b1', tasks: 4, at: 'ended', adaptive, rows }));

  it('counts all attempts, and what was saved without those that were lost', () => {
    assert.deepEqual([result.attempts, result.infrastructure, result.open, result.solved], [17, 2, 0, 4]);
    assert.deepEqual(result.adaptive, { ...adaptive, saved: 4 * 6 - 15, informative: 3 });
  });

  it('has pass@k of the first attempts alone, because the number of the others depends on outcomes', () => {
    // easy 2/2, mixed 1/2, hard 0/2, lost 0/1
    assert.deepEqual(result.tasks_at, { 1: 4, 2: 3 });
    assert.equal(result.pass_at?.['1'], (1 + 0.5 + 0 + 0) / 4);
    assert.equal(result.pass_at['2'], (1 + 1 + 0) / 3);
  });

  it('has neither for a fixed number of attempts', () => {
    const fixed = report({ batch: 'b1', tasks: 4, attempts: 6, at: 'ended', rows });
    assert.equal(fixed.adaptive, null);
    assert.equal(fixed.attempts, 24);
  });
});
