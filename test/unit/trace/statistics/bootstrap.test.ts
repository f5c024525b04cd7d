import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { finish } from '../../../../src/common/piecewise.ts';
import { binomial } from '../../../../src/trace/statistics/binomial.ts';
import {
  type Interval,
  intervalsOf,
  resamplesFor,
  type TaskGroup,
} from '../../../../src/trace/statistics/bootstrap.ts';
import { Random } from '../../../support/random.ts';

/** Each task separately. */
function apart(...lists: readonly (readonly number[])[]): TaskGroup[] {
  return (lists[0] ?? []).map((_, task) => ({ tasks: 1, values: lists.map((list) => list[task] ?? null) }));
}

function intervals(groups: readonly TaskGroup[], resamples: number): (Interval | null)[] {
  return finish(intervalsOf(groups, resamples));
}

/** Means of resamples, drawn task by task. */
function plainMeans(groups: readonly TaskGroup[], list: number, resamples: number, random: Random): number[] {
  const values = groups.flatMap(({ tasks, values: own }) =>
    typeof own[list] === 'number' ? Array.from({ length: tasks }, () => own[list] ?? 0) : [],
  );
  return Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += values[Math.floor(random.next() * values.length)] ?? 0;
    return sum / values.length;
  });
}

/** An end of an interval must be where the share `q` of the means is below it, within the sampling error of both. */
function standsAt(end: number, means: readonly number[], q: number, resamples: number): void {
  const below = means.filter((mean) => mean < end - 1e-9).length / means.length;
  const upTo = means.filter((mean) => mean <= end + 1e-9).length / means.length;
  const chance = 5 * Math.sqrt(q * (1 - q) * (1 / resamples + 1 / means.length));
  assert.ok(below - chance <= q && q <= upTo + chance, `${end} stands at ${below} to ${upTo}, not ${q}`);
}

describe('intervals', () => {
  it('are the percentiles of all resamples when there are few enough to enumerate', () => {
    // Two tasks, one solved: a resample has mean 0, 0.5, 0.5 or 1.
    assert.deepEqual(intervals(apart([0, 1]), 2000), [[0, 1]]);
    assert.deepEqual(
      intervals([{ tasks: 3, values: [0.3] }], 200)[0]?.map((value) => Number(value.toFixed(9))),
      [0.3, 0.3],
    );
    assert.deepEqual(intervals([{ tasks: 1, values: [0.3, 1] }], 200), [null, null]);
    assert.deepEqual(intervals([], 200), []);
  });

  it('leave out the tasks without a value in the list', () => {
    const groups: TaskGroup[] = [
      { tasks: 50, values: [0, 0, null] },
      { tasks: 70, values: [1, 1, 1] },
      { tasks: 1, values: [0.5, null, null] },
    ];
    const [all, some, one] = intervals(groups, 500);
    assert.deepEqual([some, one], intervals(groups.slice(0, 2), 500).slice(1));
    assert.deepEqual(one, [1, 1]);
    assert.notDeepEqual(all, some);
  });

  it('agree with drawing task by task, however the tasks are grouped', () => {
    const random = new Random(5);
    for (let trial = 0; trial < 12; trial++) {
      // With few groups of many tasks counts are drawn, with many groups of few the tasks themselves.
      const many = trial % 2 === 0;
      const groups = Array.from(
        { length: many ? 3 + trial : 40 },
        (_, at): TaskGroup => ({
          tasks: 2 + Math.floor(random.next() * (many ? 150 : 4)),
          values: [random.next() ** 2, at > 0 && random.next() < 0.3 ? null : Math.round(random.next())],
        }),
      );
      const resamples = 2000;
      for (const [list, interval] of intervals(groups, resamples).entries()) {
        const means = plainMeans(groups, list, 3000, random);
        assert.ok(interval !== null);
        standsAt(interval[0], means, 0.025, resamples);
        standsAt(interval[1], means, 0.975, resamples);
      }
    }
  });

  it('cover the truth about as often as they claim', () => {
    const random = new Random(17);
    let covered = 0;
    const trials = 300;
    for (let trial = 0; trial < trials; trial++) {
      const solved = Array.from({ length: 60 }, () => random.next()).filter((chance) => chance < 0.35).length;
      const [interval] = intervals(
        [
          { tasks: solved, values: [1] },
          { tasks: 60 - solved, values: [0] },
        ],
        500,
      );
      if (interval !== undefined && interval !== null && interval[0] <= 0.35 && 0.35 <= interval[1]) covered += 1;
    }
    assert.ok(covered / trials > 0.88 && covered / trials < 0.99, `${covered} of ${trials}`);
  });

  it('use fewer resamples for very many distinct tasks, and the full number for equal ones', () => {
    const differing = (tasks: number): TaskGroup[] =>
      Array.from({ length: tasks }, (_, i) => ({ tasks: 1, values: [i] }));
    assert.deepEqual(
      [50, 10_000, 100_000].map((tasks) => resamplesFor(differing(tasks))),
      [2000, 400, 200],
    );
    assert.equal(
      resamplesFor([
        { tasks: 1e7, values: [0, 0] },
        { tasks: 1e6, values: [1, 0] },
      ]),
      2000,
    );
  });
});

describe('binomial', () => {
  it('draws each number of successes with its probability', () => {
    const random = new Random(11);
    for (const [n, p] of [
      [5, 0.3],
      [40, 0.1],
      [40, 0.6],
      [60, 0.4],
      [300, 0.07],
      [1000, 0.97],
      [2000, 0.5],
    ] as const) {
      const draws = 20_000;
      const seen = new Map<number, number>();
      for (let i = 0; i < draws; i++) {
        const drawn = binomial(n, p, () => random.next());
        seen.set(drawn, (seen.get(drawn) ?? 0) + 1);
      }
      // Pearson's χ² over the numbers with an expectation of at least 10.
      let square = 0;
      let cells = 0;
      let logChance = n * Math.log(1 - p);
      for (let k = 0; k <= n; k++) {
        const expected = draws * Math.exp(logChance);
        logChance += Math.log((n - k) / (k + 1)) + Math.log(p / (1 - p));
        if (expected < 10) continue;
        square += ((seen.get(k) ?? 0) - expected) ** 2 / expected;
        cells += 1;
      }
      assert.ok(square < cells + 5 * Math.sqrt(2 * cells), `n ${n}, p ${p}: χ² ${square} of ${cells}`);
    }
  });

  it('stays within its bounds', () => {
    const random = new Random(2);
    const draw = (): number => random.next();
    assert.deepEqual([binomial(0, 0.5, draw), binomial(7, 0, draw), binomial(7, 1, draw)], [0, 0, 7]);
    for (let i = 0; i < 2000; i++) {
      const drawn = binomial(30, 0.5, draw);
      assert.ok(Number.isInteger(drawn) && drawn >= 0 && drawn <= 30);
    }
    let sum = 0;
    for (let i = 0; i < 400; i++) sum += binomial(200_000, 0.3, draw);
    assert.ok(Math.abs(sum / 400 - 60_000) < 5 * Math.sqrt((200_000 * 0.3 * 0.7) / 400));
  });
});
