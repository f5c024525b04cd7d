import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { report } from '../../../../src/trace/statistics.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../../src/trace/summary.ts';

/** Rewards of the attempts of a task; null: unscored. */
function rowsOf(part: string | undefined, tasks: readonly (readonly (number | null)[])[]): RolloutRow[] {
  return tasks.flatMap((rewards, index) =>
    rewards.map(
      (reward, at): RolloutRow => ({
        rollout: `r-${part}-${index}-${at}`,
        batch: 'b1',
        task: `t${index}`,
        task_index: index,
        attempt: (part === 'hot' ? 10 : 0) + at + 1,
        try: 1,
        state: 'ended',
        epoch: 1,
        last: 9,
        settles: true,
        rev: 1,
        progress: {
          ...EMPTY_PROGRESS,
          ...(part === undefined ? {} : { part }),
          status: 'done',
          reward,
          passed: reward === null ? null : reward >= 1,
          input_tokens: 10,
          output_tokens: 5,
        },
      }),
    ),
  );
}

describe('the parts of a mix in the report', () => {
  it('have their attempts, passes, tokens, and the mean reward with an interval over tasks', () => {
    const rows = [...rowsOf('hot', [[1, 0.5], [0, null], [1]]), ...rowsOf('cold', [[0.25, 0.25]])];
    const { hot, cold } = report({ batch: 'b1', tasks: 3, at: 'ended', rows }).by_part;
    const { interval, ...rest } = hot!;
    assert.deepEqual(rest, { attempts: 5, scored: 4, passed: 2, tokens: 75, mean: 0.625 });
    assert.ok(interval !== null && interval[0] >= 0 && interval[0] < 0.625);
    assert.ok(interval[1] > 0.625 && interval[1] <= 1);
    // With one task, nothing can be resampled.
    assert.deepEqual(cold, { attempts: 2, scored: 2, passed: 0, tokens: 30, mean: 0.25, interval: null });
  });

  it('of which nothing is scored have no mean', () => {
    const { hot } = report({ batch: 'b1', tasks: 1, at: 'ended', rows: rowsOf('hot', [[null]]) }).by_part;
    assert.deepEqual([hot?.mean, hot?.interval, hot?.scored], [null, null, 0]);
  });

  it('are none without a mix', () => {
    assert.deepEqual(report({ batch: 'b1', tasks: 1, at: 'ended', rows: rowsOf(undefined, [[1]]) }).by_part, {});
  });
});
