import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { progressLine } from '../../../src/cli/progress.ts';
import { outcomeOf, troubleLines } from '../../../src/cli/troubles.ts';
import { batchGrid } from '../../../src/client/text/batchText.ts';
import { outcomeMark } from '../../../src/client/text/lines.ts';
import { table } from '../../../src/client/text/table.ts';
import type { BatchRow } from '../../../src/protocol/client.ts';
import { attemptsOf } from '../../../src/trace/statistics/outcomes.ts';
import { EMPTY_PROGRESS, type Progress, type RolloutRow, type RolloutState } from '../../../src/trace/summary.ts';

const BATCH: BatchRow = {
  batch: 'b',
  name: 'b',
  created_at: 0,
  state: 'ended',
  submission: '',
  tasks: 1,
  attempts: 1,
  truncated: 0,
  steps: 0,
  input_tokens: 0,
  output_tokens: 0,
  imported: false,
  rev: 0,
  last: 0,
  counts: { passed: 0, failed: 0, unscored: 0, cancelled: 0, infrastructure: 0, running: 0, held: 0, queued: 0 },
};

function row(
  task: string,
  attempt: number,
  state: RolloutState,
  settles: boolean,
  progress: Partial<Progress> = {},
): RolloutRow {
  return {
    rollout: `r${task}${attempt}`,
    batch: 'b',
    task,
    task_index: 0,
    attempt,
    try: 1,
    state,
    epoch: 1,
    last: 1,
    settles,
    rev: 1,
    progress: { ...EMPTY_PROGRESS, ...progress },
  };
}

describe('a table', () => {
  it('aligns numbers to the right', () => {
    assert.equal(
      table(
        [
          ['name', 'n'],
          ['a', '10'],
          ['bcdef', '7'],
        ],
        [1],
      ),
      'name    n\na      10\nbcdef   7',
    );
  });
});

describe('the failures of a batch', () => {
  const lost = (task: string, message: string): RolloutRow =>
    row(task, 1, 'ended', false, { status: 'infrastructure', error_class: 'infrastructure', error_message: message });
  const failed = row('f', 1, 'ended', true, {
    status: 'done',
    passed: false,
    reward: 0,
    error_class: 'model_error',
    error_message: 'too hot (400)',
  });
  const passed = row('p', 1, 'ended', true, { status: 'done', passed: true, reward: 1 });
  const unscored = row('u', 1, 'ended', true, {
    status: 'done',
    passed: null,
    reward: null,
    error_class: 'tool_error',
    error_message: 'no such module',
  });
  const lines = (rows: RolloutRow[], reason = 'done', reported: string[] = []): string[] =>
    troubleLines({ ...BATCH, reason }, attemptsOf(rows), new Set(reported));
  it('have one line for each cause, with what to do', () => {
    assert.deepEqual(lines([passed]), []);
    assert.deepEqual(lines([lost('a', 'gone'), lost('b', 'gone'), lost('c', 'cut'), failed, unscored]), [
      '2 attempts were lost to infrastructure: gone',
      '1 attempt was lost to infrastructure: cut',
      '1 attempt was ended by a model error: too hot (400)',
      '1 attempt was left without a score: no such module',
      'Retry the lost attempts with rollout retry b.',
    ]);
    assert.deepEqual(
      lines(['a', 'b', 'c', 'd', 'e'].map((task) => lost(task, task))).at(-2),
      '2 more were lost to infrastructure for 2 other reasons.',
    );
  });
  it('have one cause where only figures differ, and a full context is reported', () => {
    const full = (task: string, tokens: number): RolloutRow =>
      row(task, 1, 'ended', true, {
        status: 'truncated',
        passed: false,
        reward: 0,
        error_class: 'context_overflow',
        error_message: `The messages have ${tokens} tokens.`,
      });
    assert.deepEqual(lines([full('a', 2049), full('b', 3111), passed]), [
      '2 attempts were cut short by a full context: The messages have 2049 tokens.',
    ]);
  });
  it('are reported once, and a stopped batch does not suggest a retry', () => {
    assert.deepEqual(lines([lost('a', 'wrong key')], 'wrong key', ['wrong key']), [
      '1 attempt was lost to infrastructure.',
    ]);
    assert.deepEqual(lines([lost('a', 'wrong key')], 'wrong key'), [
      'The batch was stopped: wrong key',
      '1 attempt was lost to infrastructure.',
    ]);
  });
  it('decide the exit code', () => {
    assert.deepEqual(
      [[passed, failed], [passed, unscored], [unscored], [passed, lost('a', '')]].map((rows) =>
        outcomeOf(attemptsOf(rows)),
      ),
      [0, 0, 1, 3],
    );
  });
});

describe('the grid of a batch', () => {
  const rows = [
    row('one', 1, 'ended', true, { status: 'done', passed: true }),
    row('one', 2, 'ended', true, { status: 'done', passed: false }),
    row('one', 3, 'ended', true, { status: 'truncated', passed: false }),
    row('two', 1, 'ended', false, { status: 'infrastructure' }),
    row('two', 2, 'running', false),
    row('two', 3, 'queued', false),
    row('two', 4, 'held', false),
    row('two', 5, 'ended', false, { status: 'cancelled' }),
    row('two', 6, 'ended', true, { status: 'done', passed: null }),
  ];
  it('has a distinct mark for every outcome', () => {
    assert.equal(rows.map(outcomeMark).join(' '), '● ✗ ◐ ⚠ ▷ · ‖ ○ ?');
  });
  it('has one line for each task with its pass rate over scored attempts', () => {
    const [first, second] = batchGrid(rows, 100).split('\n');
    assert.match(first ?? '', /^one {3}▓▓░░░░ {5}1\/3 {2}● ✗ ◐$/);
    assert.match(second ?? '', /^two {3}░░░░░░ {5}0\/0 /);
  });
  it('truncates what does not fit', () => {
    const many = Array.from({ length: 200 }, (_, index) => row('task', index + 1, 'queued', false));
    assert.ok(batchGrid(many, 80).length <= 80);
    assert.ok(batchGrid(many, 80).endsWith('…'));
  });
});

describe('the progress line', () => {
  it('counts settled, running, and queued attempts', () => {
    const line = progressLine(
      4,
      [
        row('a', 1, 'ended', true, { status: 'done', passed: true, reward: 1, steps: 3, input_tokens: 100 }),
        row('a', 2, 'running', false, { steps: 1 }),
      ],
      2_000,
      120,
    );
    assert.equal(line, '▓▓▓▓▓░░░░░░░░░░░░░░░ 1/4  ● 1  ✗ 0  ▷ 1  2.0 steps/s  100 tokens  2.0 s');
  });
  it('counts the tries that were lost to infrastructure, whether they are retried or not', () => {
    const lost = { status: 'infrastructure' } as const;
    const rows = [
      row('a', 1, 'ended', false, lost),
      { ...row('a', 1, 'running', false), rollout: 'a-1-2', try: 2 },
      row('a', 2, 'ended', false, lost),
    ];
    assert.match(progressLine(4, rows, 2_000, 120), / 1\/4 {2}● 0 {2}✗ 0 {2}⚠ 2 {2}▷ 1 /);
  });
  it('is never wider than the terminal', () => {
    assert.ok(progressLine(1, [], 1, 60).length <= 60);
  });
});
