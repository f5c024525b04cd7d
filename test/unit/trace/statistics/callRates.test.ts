import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CalledTools } from '../../../../src/trace/schema/calls.ts';
import { compareReports } from '../../../../src/trace/statistics/compare.ts';
import { type Comparison, comparisonSchema } from '../../../../src/trace/statistics/schema.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../../src/trace/summary.ts';

function row(task: string, attempt: number, passed: boolean, calls?: CalledTools): RolloutRow {
  return {
    rollout: `${task}${attempt}`,
    batch: 'b',
    task,
    task_index: 0,
    attempt,
    try: 1,
    state: 'ended',
    epoch: 1,
    last: 9,
    settles: true,
    rev: attempt,
    progress: {
      ...EMPTY_PROGRESS,
      status: 'done',
      passed,
      reward: passed ? 1 : 0,
      ...(calls === undefined ? {} : { calls }),
    },
  };
}

function compared(here: RolloutRow[], baseline: RolloutRow[]): Comparison {
  return comparisonSchema.parse(compareReports({ batch: 'h', rows: here }, { batch: 'b', rows: baseline }));
}

describe('calls of two batches', () => {
  it('are right if they equal a call of another attempt that passed', () => {
    const { calls } = compared(
      [row('t', 1, true, { find: { succeeded: [1] } }), row('t', 2, false, { find: { succeeded: [2], failed: [1] } })],
      [row('t', 1, true, { find: { succeeded: [3] }, pay: { failed: [9] } })],
    );
    // 1 is only its own reference; 2 is nobody's; a failed call may have the right arguments; pay has no reference.
    assert.ok(calls !== null);
    assert.deepEqual(calls.here, { made: 3, succeeded: 2, valid: 3, compared: 3, right: 1 });
    assert.deepEqual(calls.baseline, { made: 2, succeeded: 1, valid: 2, compared: 1, right: 1 });
    assert.deepEqual([calls.tool_success.here, calls.tool_success.baseline], [2 / 3, 1 / 2]);
    assert.deepEqual([calls.parameter_accuracy.here, calls.parameter_accuracy.baseline], [1 / 3, 1 / 2]);
  });

  it('need valid arguments, and none of an attempt that failed is a reference', () => {
    const { calls } = compared(
      [row('t', 1, false, { find: { succeeded: [1], invalid: 2 }, '': { invalid: 1 } })],
      [row('t', 1, false, { find: { succeeded: [2], more: { succeeded: 3, failed: 1 } } })],
    );
    assert.ok(calls !== null);
    assert.deepEqual(calls.here, { made: 4, succeeded: 1, valid: 1, compared: 0, right: 1 });
    assert.deepEqual(calls.baseline, { made: 5, succeeded: 4, valid: 5, compared: 0, right: 5 });
  });

  it('are paired by task: a mean over the tasks that both have, with an interval', () => {
    const side = (good: number): RolloutRow[] =>
      ['a', 'b', 'c'].map((task) => row(task, 1, true, { x: { succeeded: Array(good).fill(1), failed: [1] } }));
    const { calls } = compared(
      [...side(3), row('only here', 1, true, { x: { failed: [1] } }), row('silent', 1, true, {})],
      [...side(1), row('silent', 1, true, { x: { succeeded: [1] } })],
    );
    assert.ok(calls !== null);
    assert.deepEqual(calls.tool_success, {
      here: 0.75,
      baseline: 0.5,
      difference: 0.25,
      interval: [0.25, 0.25],
      tasks: 3,
    });
  });

  it('say why they cannot be compared', () => {
    const recorded = [row('t', 1, true, { x: { succeeded: [1] } })];
    const { calls, why } = compared(recorded, [row('t', 1, true)]);
    assert.equal(calls, null);
    assert.equal(why['calls'], 'a batch has no recorded calls of agents');
    assert.match(
      compared(recorded, [row('u', 1, true, { x: { succeeded: [1] } })]).why['calls'] ?? '',
      /no task in common/,
    );
  });
});
