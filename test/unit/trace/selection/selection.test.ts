import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type SelectedFrom,
  type Selection,
  selectAttempts,
  selection,
  splitPartOf,
} from '../../../../src/trace/selection/selection.ts';
import { rolloutRow, scored } from '../../host/rows.ts';

const rows = [
  scored('easy', 1, true, { progress: { fingerprint: 'a' } }),
  scored('easy', 2, true, { progress: { fingerprint: 'a' } }),
  scored('mixed', 1, true, { progress: { fingerprint: 'b', reward: 0.5 } }),
  scored('mixed', 2, false, { progress: { fingerprint: 'a' } }),
  scored('hard', 1, false, {}),
  scored('hard', 2, false, { progress: { steps: 9 } }),
  rolloutRow({ task: 'lost', settles: false, progress: { status: 'infrastructure', passed: null, reward: null } }),
  rolloutRow({ task: 'open', state: 'running' }),
];

const from = (list = rows): SelectedFrom[] => list.map((row) => ({ row }));
function selected(by: Selection, list = rows): { taken: string[]; left: Readonly<Record<string, number>> } {
  const { taken, left_out: left } = selectAttempts(from(list), selection.parse(by));
  return { taken: taken.map(({ row: { task, attempt } }) => `${task}/${attempt}`), left };
}

describe('the selection of attempts', () => {
  it('takes all that ended, by default', () => {
    const { taken, left } = selected({});
    assert.equal(taken.length, 7);
    assert.deepEqual(left, { running: 1 });
  });

  it('takes outcomes, and counts the others by reason', () => {
    assert.deepEqual(selected({ outcomes: ['passed'] }), {
      taken: ['easy/1', 'easy/2', 'mixed/1'],
      left: { running: 1, outcome: 4 },
    });
    assert.deepEqual(selected({ outcomes: ['running', 'infrastructure'] }).taken, ['lost/1', 'open/1']);
  });

  it('takes a range of rewards; no reward is in no range, and is not 0', () => {
    assert.deepEqual(selected({ reward: { min: 0, max: 0.5 } }).taken, ['mixed/1', 'mixed/2', 'hard/1', 'hard/2']);
    assert.deepEqual(selected({ reward: {} }).left, { running: 1, reward: 1 });
  });

  it('takes tasks with both passed and failed attempts', () => {
    assert.deepEqual(selected({ rate: { above: 0, below: 1 } }), {
      taken: ['mixed/1', 'mixed/2'],
      left: { running: 1, rate: 5 },
    });
    assert.deepEqual(selected({ rate: { above: 0 } }).taken, ['easy/1', 'easy/2', 'mixed/1', 'mixed/2']);
  });

  it('leaves out members that others replaced, also of the rates of their tasks', () => {
    const list = [scored('t', 1, true), scored('t', 2, false), scored('t', 3, false)];
    const attempts = list.map((row, index) => ({
      row: index === 0 ? { ...row, progress: { ...row.progress, replaced: true } } : row,
    }));
    const numbers = (by: Selection): unknown => {
      const { taken, left_out: left } = selectAttempts(attempts, selection.parse(by));
      return [taken.map(({ row: { attempt } }) => attempt), left];
    };
    assert.deepEqual(numbers({}), [[2, 3], { replaced: 1 }]);
    assert.deepEqual(numbers({ replaced: true }), [[1, 2, 3], {}]);
    assert.deepEqual(numbers({ rate: { above: 0 } }), [[], { replaced: 1, rate: 2 }]);
    assert.deepEqual(numbers({ rate: { above: 0 }, replaced: true }), [[1, 2, 3], {}]);
  });

  it('does not mix the rates of a task of two batches', () => {
    const two = [scored('t', 1, true), scored('t', 1, false, { batch: 'b2' })];
    assert.deepEqual(selected({ rate: { above: 0, below: 1 } }, two).taken, []);
  });

  it('evaluates a condition over the attempt and its task', () => {
    assert.deepEqual(selected({ where: 'step > 5' }).taken, ['hard/2']);
    assert.deepEqual(selected({ where: 'reward > 0.0' }).left, { running: 1, where: 3, undecided: 1 });
    const task = { id: 'easy', question: 'How?', meta: {} };
    const { taken } = selectAttempts(
      rows.map((row) => ({ row, ...(row.task === 'easy' ? { task } : {}) })),
      { where: 'has(task.question) && task.question == "How?"' },
    );
    assert.equal(taken.length, 2);
    for (const where of ['tool.name == "x"', 'nothing > 3', 'step +'])
      assert.throws(() => selected({ where }), { code: 'usage' });
  });

  it('keeps the first of equal trajectories of a task, in all batches', () => {
    const more = [...rows, scored('easy', 1, true, { batch: 'b2', progress: { fingerprint: 'a' } })];
    assert.deepEqual(selected({ outcomes: ['passed', 'failed'], distinct: true }, more), {
      taken: ['easy/1', 'mixed/1', 'mixed/2', 'hard/1', 'hard/2'],
      left: { running: 1, outcome: 1, distinct: 2 },
    });
  });

  it('keeps at most so many of a task', () => {
    const more = [...rows, scored('easy', 1, true, { batch: 'b2' })];
    assert.deepEqual(selected({ outcomes: ['passed'], per_task: 1 }, more), {
      taken: ['easy/1', 'mixed/1'],
      left: { running: 1, outcome: 4, per_task: 2 },
    });
  });

  it('splits by the ID of a task and the seed alone', () => {
    const tasks = Array.from({ length: 1000 }, (_, index) => `task ${index}`);
    const parts = tasks.map((task) => splitPartOf(task, { seed: 42, share: 0.25 }));
    const test = parts.filter((part) => part === 'test').length;
    assert.ok(test > 200 && test < 300, `${test} of 1000 for a share of 25 %`);
    // Golden: the same on every machine and in every version.
    assert.deepEqual(parts.slice(0, 4), ['test', 'train', 'train', 'train']);
    const of = (part: 'train' | 'test', seed = 42): string[] =>
      selected(
        { split: { seed, share: 0.25, part } },
        tasks.flatMap((task) => [scored(task, 1, true), scored(task, 2, false)]),
      ).taken;
    assert.equal(of('train').length + of('test').length, 2000);
    assert.ok(of('test').every((name) => !of('train').includes(name)));
    assert.notDeepEqual(of('test', 7), of('test'));
    // A larger share only adds tasks.
    const larger = tasks.filter((task) => splitPartOf(task, { seed: 42, share: 0.5 }) === 'test');
    assert.ok(tasks.every((task, index) => parts[index] !== 'test' || larger.includes(task)));
  });

  it('refuses unknown keys and impossible values', () => {
    for (const wrong of [{ outcome: ['passed'] }, { per_task: 0 }, { split: { seed: 1, share: 2, part: 'train' } }])
      assert.equal(selection.safeParse(wrong).success, false);
  });
});
