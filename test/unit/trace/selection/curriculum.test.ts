import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CurriculumRule, selectTasks } from '../../../../src/trace/selection/curriculum.ts';

/** Rates in tenths by name; those of `new-…` are unknown. */
const TASKS = ['d5', 'new-1', 'a0', 'c10', 'b1', 'e5', 'new-2', 'f9'].map((id) => ({ id }));
const RATES = new Map(
  TASKS.filter(({ id }) => !id.startsWith('new')).map(({ id }) => [
    id,
    { passed: Number(id.slice(1)) * 4, scored: 40 },
  ]),
);

function selected(rule: CurriculumRule): string {
  return selectTasks(TASKS, RATES, rule)
    .tasks.map(({ id }) => id)
    .join(' ');
}

describe('a curriculum', () => {
  it('keeps tasks in its band, both ends inclusive, and tasks without a rate', () => {
    assert.equal(selected({ keep: [0.1, 0.9] }), 'd5 new-1 b1 e5 new-2 f9');
    assert.deepEqual(selectTasks(TASKS, RATES, { keep: [0.1, 0.9] }).counts, {
      kept: 6,
      unknown: 2,
      too_hard: 1,
      too_easy: 1,
    });
    assert.equal(selected({ keep: [0.5, 0.5] }), 'd5 new-1 e5 new-2');
  });

  it('orders tasks by their rates; others come last, and equal ones stay in order', () => {
    assert.equal(selected({ order: 'hard_first' }), 'a0 b1 d5 e5 f9 c10 new-1 new-2');
    assert.equal(selected({ order: 'easy_first', keep: [0.1, 1] }), 'c10 f9 d5 e5 b1 new-1 new-2');
  });

  it('keeps all tasks if nothing is known', () => {
    const { tasks, counts } = selectTasks(TASKS, new Map(), { keep: [0.5, 0.5], order: 'hard_first' });
    assert.deepEqual(tasks, TASKS);
    assert.deepEqual(counts, { kept: 8, unknown: 8, too_hard: 0, too_easy: 0 });
  });
});
