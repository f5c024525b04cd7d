import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareWithParent, ratesOf } from '../../../../src/trace/statistics/forkRates.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import { Random } from '../../../support/random.ts';
import { scored } from '../../host/rows.ts';

const rows = (passed: number, failed: number): RolloutRow[] =>
  Array.from({ length: passed + failed }, (_, index) => scored('t', index + 1, index < passed));
const near = (value: number | undefined, expected: number): void =>
  assert.ok(value !== undefined && Math.abs(value - expected) < 5e-4, `${value ?? 'nothing'}, not ${expected}`);

describe('pass@k from here', () => {
  it('has Wilson’s interval for one attempt, and derives it for k', () => {
    // Newcombe 1998, table I: 15 of 148, method 3.
    const { pass_at: rates, intervals } = ratesOf(rows(15, 133), [1, 4]);
    near(rates[1] ?? undefined, 15 / 148);
    near(intervals[1]?.[0], 0.0624);
    near(intervals[1]?.[1], 0.1605);
    near(intervals[4]?.[0], 1 - (1 - 0.0624) ** 4);
    assert.deepEqual([ratesOf(rows(0, 3), [1]).intervals[1]?.[0], ratesOf(rows(3, 0), [1]).intervals[1]?.[1]], [0, 1]);
  });

  it('omits what is unknown', () => {
    assert.deepEqual(ratesOf([], [1]), {
      attempts: 0,
      scored: 0,
      passed: 0,
      pass_at: { 1: null },
      intervals: { 1: null },
    });
    const some = ratesOf(rows(1, 1), [1, 4]);
    assert.deepEqual([some.pass_at[4], some.intervals[4]], [null, null], 'fewer attempts than k');
    assert.equal(compareWithParent({ seq: 3, fork: [], parent: rows(1, 1), attempts: 4 }).difference, null);
  });

  it('compares a fork with those on the same path, else with all', () => {
    // Newcombe 1998 (independent proportions), method 10: 56/70 - 48/80.
    const both = compareWithParent({
      seq: 3,
      fork: rows(56, 14),
      parent: rows(1, 99),
      siblings: rows(48, 32),
      attempts: 70,
    });
    assert.equal(both.difference?.of, 'siblings');
    near(both.difference.value, 0.2);
    near(both.difference.interval[0], 0.0524);
    near(both.difference.interval[1], 0.3339);
    const alone = compareWithParent({ seq: 3, fork: rows(3, 1), parent: rows(1, 3), siblings: [], attempts: 4 });
    assert.deepEqual([alone.difference?.of, alone.difference?.value], ['parent', 0.5]);
    assert.deepEqual(Object.keys(alone.fork.pass_at), ['1', '2', '3', '4']);
  });

  it('intervals contain the true rate about as often as they claim', () => {
    const random = new Random(7);
    let inside = 0;
    const rounds = 2_000;
    for (let round = 0; round < rounds; round++) {
      const passed = Array.from({ length: 12 }, () => random.next() < 0.4).filter(Boolean).length;
      const [low, high] = ratesOf(rows(passed, 12 - passed), [3]).intervals[3] ?? [1, 0];
      const truth = 1 - 0.6 ** 3;
      if (low <= truth && truth <= high) inside += 1;
    }
    assert.ok(inside / rounds > 0.92 && inside / rounds < 0.99, `${inside} of ${rounds}`);
  });
});
