import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchGrid } from '../../../src/cli/batchText.ts';
import { outcomeMark } from '../../../src/cli/lines.ts';
import { progressLine } from '../../../src/cli/progress.ts';
import { amount, bytes, duration, table } from '../../../src/cli/table.ts';
import { EMPTY_PROGRESS, type Progress, type RolloutRow, type RolloutState } from '../../../src/trace/summary.ts';

function row(task: string, attempt: number, state: RolloutState, settles: boolean, progress: Partial<Progress> = {}): RolloutRow {
  return { rollout: `r${task}${attempt}`, batch: 'b', task, task_index: 0, attempt, try: 1, state, epoch: 1, last: 1, settles, rev: 1, progress: { ...EMPTY_PROGRESS, ...progress } };
}

describe('units', () => {
  it('prints durations', () => {
    assert.deepEqual([0, 840, 12_340, 65_000, 3_725_000].map(duration), ['0 ms', '840 ms', '12.3 s', '1 min 05 s', '1 h 02 min']);
  });
  it('prints amounts and bytes', () => {
    assert.deepEqual([999, 9_999, 12_345, 1_234_567, 2e9].map(amount), ['999', '9,999', '12.3k', '1.23M', '2.00G']);
    assert.deepEqual([812, 4_200, 127e6].map(bytes), ['812 B', '4.20 kB', '127 MB']);
  });
  it('sets numbers flush right', () => {
    assert.equal(table([['name', 'n'], ['a', '10'], ['bcdef', '7']], [1]), 'name    n\na      10\nbcdef   7');
  });
});

describe('the grid of a batch', () => {
  const rows = [
    row('one', 1, 'ended', true, { status: 'done', passed: true }), row('one', 2, 'ended', true, { status: 'done', passed: false }),
    row('one', 3, 'ended', true, { status: 'truncated', passed: false }), row('two', 1, 'ended', false, { status: 'infrastructure' }),
    row('two', 2, 'running', false), row('two', 3, 'queued', false), row('two', 4, 'held', false), row('two', 5, 'ended', false, { status: 'cancelled' }),
    row('two', 6, 'ended', true, { status: 'done', passed: null }),
  ];
  it('has a mark of its own for every outcome', () => {
    assert.equal(rows.map(outcomeMark).join(' '), '● ✗ ◐ ⚠ ▷ · ‖ ○ ?');
  });
  it('has one line a task with its pass rate over scored attempts', () => {
    const [first, second] = batchGrid(rows, 100).split('\n');
    assert.match(first ?? '', /^one {3}▓▓░░░░ {5}1\/3 {2}● ✗ ◐$/);
    assert.match(second ?? '', /^two {3}░░░░░░ {5}0\/0 /);
  });
  it('cuts what does not fit', () => {
    const many = Array.from({ length: 200 }, (_, index) => row('task', index + 1, 'queued', false));
    assert.ok(batchGrid(many, 80).length <= 80);
    assert.ok(batchGrid(many, 80).endsWith('…'));
  });
});

describe('the progress line', () => {
  it('counts what settled, runs and waits', () => {
    const line = progressLine(4, [row('a', 1, 'ended', true, { status: 'done', passed: true, steps: 3, input_tokens: 100 }), row('a', 2, 'running', false, { steps: 1 })], 2_000, 120);
    assert.equal(line, '▓▓▓▓▓░░░░░░░░░░░░░░░ 1/4  ● 1  ✗ 0  ▷ 1  2.0 steps/s  100 tokens  2.0 s');
  });
  it('is never wider than the terminal', () => {
    assert.ok(progressLine(1, [], 1, 60).length <= 60);
  });
});
