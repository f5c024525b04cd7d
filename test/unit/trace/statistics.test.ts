import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { parseFailUnder, reaches } from '../../../src/trace/statistics/bar.ts';
import { compareReports } from '../../../src/trace/statistics/compare.ts';
import { passAll, passAt, reportedKs } from '../../../src/trace/statistics/passRates.ts';
import { comparisonSchema, reportSchema } from '../../../src/trace/statistics/schema.ts';
import { type ReportInput, report } from '../../../src/trace/statistics.ts';
import { EMPTY_PROGRESS, type Progress, type RolloutRow } from '../../../src/trace/summary.ts';
import { Random } from '../../support/random.ts';

let count = 0;

function row(
  task: string,
  attempt: number,
  progress: Partial<Progress> = {},
  over: Partial<RolloutRow> = {},
): RolloutRow {
  count += 1;
  const ended = progress.status !== undefined;
  return {
    rollout: `r${count}`,
    batch: 'b1',
    task,
    task_index: 0,
    attempt,
    try: 1,
    state: ended ? 'ended' : 'queued',
    epoch: 1,
    last: 9,
    settles: progress.status === 'done' || progress.status === 'truncated',
    rev: count,
    progress: { ...EMPTY_PROGRESS, ...progress },
    ...over,
  };
}

const PASS = { status: 'done', passed: true, reward: 1 } as const;
const FAIL = { status: 'done', passed: false, reward: 0 } as const;

/** `{a: '+-', b: '--'}`: attempts of each task by outcome. */
function rowsOf(outcomes: Readonly<Record<string, string>>): RolloutRow[] {
  return Object.entries(outcomes).flatMap(([task, marks]) =>
    Array.from(marks, (mark, i) => row(task, i + 1, mark === '+' ? PASS : FAIL)),
  );
}

function createReport(input: Omit<ReportInput, 'batch'>): ReturnType<typeof report> {
  return reportSchema.parse(report({ batch: 'b1', ...input }));
}

/** Every choice of k of the attempts: the share in which some or all pass. */
function enumerate(passes: readonly boolean[], k: number): { any: number; all: number } {
  let choices = 0,
    any = 0,
    all = 0;
  for (let mask = 0; mask < 1 << passes.length; mask++) {
    const chosen = passes.filter((_, i) => (mask >> i) & 1);
    if (chosen.length !== k) continue;
    choices += 1;
    if (chosen.some(Boolean)) any += 1;
    if (chosen.every(Boolean)) all += 1;
  }
  return { any: any / choices, all: all / choices };
}

function near(actual: number | null | undefined, expected: number): void {
  assert.ok(typeof actual === 'number' && Math.abs(actual - expected) < 1e-12, `${String(actual)} is not ${expected}`);
}

describe('pass@k and pass^k of a task', () => {
  it('are the same figure for k = 1', () => {
    for (let n = 1; n <= 40; n++)
      for (let c = 0; c <= n; c++) assert.equal(passAt({ n, c }, 1), passAll({ n, c }, 1), `${c} of ${n}`);
  });

  it('equal the count over every choice of k attempts', () => {
    for (let n = 1; n <= 9; n++) {
      for (let c = 0; c <= n; c++) {
        const passes = Array.from({ length: n }, (_, i) => i < c);
        for (let k = 1; k <= n; k++) {
          const expected = enumerate(passes, k);
          near(passAt({ n, c }, k), expected.any);
          near(passAll({ n, c }, k), expected.all);
        }
      }
    }
  });

  it('are null with fewer than k attempts, and stable with very many', () => {
    assert.equal(passAt({ n: 3, c: 3 }, 4), null);
    assert.equal(passAll({ n: 3, c: 3 }, 4), null);
    const value = passAt({ n: 200_000, c: 3 }, 1000) ?? 0;
    assert.ok(Math.abs(value - (1 - (1 - 1000 / 200_000) ** 3)) < 1e-5);
    near(passAt({ n: 10_000, c: 1 }, 1), 1e-4);
  });

  it('are reported for every k up to 10, then for powers of two', () => {
    assert.deepEqual(reportedKs(4), [1, 2, 3, 4]);
    assert.deepEqual(reportedKs(10), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert.deepEqual(reportedKs(32), [1, 2, 4, 8, 16, 32]);
    assert.deepEqual(reportedKs(12, [3]), [1, 2, 3, 4, 8, 12]);
    assert.deepEqual(reportedKs(0), []);
  });
});

describe('report', () => {
  it('has means over tasks, each k over those with enough scored attempts', () => {
    const result = createReport({ rows: rowsOf({ a: '++-', b: '-', c: '--+' }) });
    near(result.pass_at?.['1'], (2 / 3 + 0 + 1 / 3) / 3);
    near(result.pass_at?.['2'], (1 + 2 / 3) / 2);
    near(result.pass_all?.['2'], (1 / 3 + 0) / 2);
    assert.deepEqual(result.tasks_at, { 1: 3, 2: 2, 3: 2 });
    assert.deepEqual(
      [result.tasks, result.attempts, result.scored, result.passed, result.failed, result.solved],
      [3, 7, 7, 3, 4, 2],
    );
  });

  it('has the rate of the whole time that an ended batch ran', () => {
    const minute = 60_000;
    const rows = [1, 2, 3, 4].map((attempt) =>
      row('a', attempt, { ...PASS, started_at: attempt * minute, ended_at: (attempt + 1) * minute }),
    );
    assert.equal(createReport({ rows, at: 'ended' }).per_hour, 60, '4 in 4 minutes, however long ago');
    const running = [...rows, row('a', 5, { started_at: 6 * minute }, { state: 'held' })];
    const now = createReport({ rows: running, at: 6 * minute });
    assert.deepEqual([now.per_hour, now.running, now.held, now.open], [60, 0, 1, 1]);
    assert.equal(createReport({ rows }).per_hour, null);
    const lost = row(
      'a',
      6,
      { status: 'infrastructure', started_at: minute, ended_at: 2 * minute },
      { state: 'ended' },
    );
    assert.equal(createReport({ rows: [lost], at: 'ended' }).per_hour, 0, 'lost to infrastructure');
  });

  it('drops no attempt', () => {
    const rows = [
      ...rowsOf({ a: '+-' }),
      row('a', 3, { status: 'truncated', passed: false, reward: 0, error_class: 'limit' }),
      row('a', 4, { status: 'truncated', passed: null, reward: null, error_class: 'limit' }),
      row('b', 1, { status: 'done', passed: null, reward: null }),
      row('b', 2, { status: 'cancelled', passed: null, reward: null }),
      row('b', 3, { status: 'infrastructure', passed: null, reward: null, error_class: 'infrastructure' }),
      row('b', 4),
      row('c', 1, {}, { state: 'running' }),
      row('c', 2, {}, { state: 'held' }),
      row('c', 3, { ...PASS, touched: true }, { settles: false }),
    ];
    const result = createReport({ rows, attempts: 5, tasks: 3 });
    assert.deepEqual(
      [result.attempts, result.scored, result.unscored, result.cancelled, result.infrastructure, result.open],
      [15, 3, 2, 2, 1, 7],
      'a touched attempt that no other try follows counts as in the store: cancelled',
    );
    assert.equal(
      result.attempts,
      result.scored + result.unscored + result.cancelled + result.infrastructure + result.open,
    );
    assert.equal(result.truncated, 2);
    assert.equal(result.passed + result.failed, result.scored);
    assert.deepEqual(result.by_error, {
      limit: { attempts: 2, passed: 0 },
      infrastructure: { attempts: 1, passed: 0 },
    });
    assert.deepEqual(result.by_cause, {
      'No cause recorded': { kind: 'unknown', attempts: 2, tasks: 2 },
      limit: { kind: 'limit', attempts: 2, tasks: 1 },
      cancelled: { kind: 'cancelled', attempts: 2, tasks: 2 },
      infrastructure: { kind: 'infrastructure', attempts: 1, tasks: 1 },
    });
    const causes = Object.values(result.by_cause).reduce((sum, { attempts }) => sum + attempts, 0);
    assert.equal(causes + result.passed + result.open, result.attempts, 'every settled attempt passed or has a cause');
  });

  it('counts each attempt once, by the rollout that settled it, and the tokens of all its tries', () => {
    const used = { input_tokens: 10, output_tokens: 5, cost: 0.5 };
    const rows = [
      row('a', 1, { ...used, status: 'infrastructure', error_class: 'infrastructure' }, { try: 1 }),
      row('a', 1, { ...used, ...PASS, ms: 100 }, { try: 2 }),
      row('a', 1, { ...used }, { try: 3, state: 'running', settles: false }),
    ];
    for (const order of [rows, rows.toReversed()]) {
      const result = createReport({ rows: order });
      assert.deepEqual([result.attempts, result.scored, result.passed], [1, 1, 1]);
      assert.deepEqual(result.tokens, { input: 30, output: 15, cached: 0 });
      assert.deepEqual([result.cost, result.cost_per_solved], [1.5, 1.5]);
    }
  });

  it('uses the newest try of an unsettled attempt', () => {
    const rows = [row('a', 1, { status: 'infrastructure' }), row('a', 1, {}, { try: 2, state: 'running' })];
    assert.deepEqual([createReport({ rows }).open, createReport({ rows }).infrastructure], [1, 0]);
  });

  it('has no pass@k when a stop rule chose the attempts', () => {
    const rows = [
      ...rowsOf({ a: '++', b: '----' }),
      row('a', 3, { status: 'cancelled' }),
      row('a', 4, { status: 'cancelled' }),
    ];
    const result = createReport({ rows, passesPerTask: 2, levels: new Map([['a', 1]]) });
    assert.deepEqual(
      [result.pass_at, result.pass_all, result.intervals.pass_at, result.by_level['1']?.pass_at],
      [null, null, null, null],
    );
    assert.match(result.why['pass_at'] ?? '', /stops a task after 2 passes/);
    assert.equal(result.solved, 1);
    // the rule removed nothing
    assert.notEqual(createReport({ rows: rowsOf({ a: '++--', b: '----' }), passesPerTask: 2 }).pass_at, null);
  });

  it('says why a figure is missing', () => {
    const none = createReport({ rows: [row('a', 1)] });
    assert.equal(none.pass_at?.['1'], null);
    assert.deepEqual(Object.keys(none.why).sort(), [
      'cost',
      'cost_per_solved',
      'ms',
      'pass_all',
      'pass_at',
      'per_hour',
      'tokens',
    ]);
    const some = createReport({ rows: rowsOf({ a: '+', b: '-' }), attempts: 3 });
    assert.equal(some.pass_at?.['3'], null);
    assert.equal(some.why['pass_at.3'], 'no task has 3 scored attempts');
    assert.equal(createReport({ rows: rowsOf({ a: '+-' }) }).intervals.pass_at?.['1'], null);
    assert.deepEqual(createReport({ rows: [] }).attempts, 0);
  });

  it('breaks down by level, tool and time', () => {
    const rows = [
      row('a', 1, { ...PASS, tools: ['find', 'renew'], ms: 100 }),
      row('a', 2, { ...FAIL, tools: ['find'], ms: 300 }),
      row('b', 1, { ...FAIL, ms: 200 }),
      row('b', 2, { ...FAIL, ms: 5000 }, { duplicate_of: 'r1' }),
      row('b', 3, { tools: ['find'] }, { state: 'running' }),
    ];
    const result = createReport({
      rows,
      levels: new Map<string, string | number>([
        ['a', 10],
        ['b', 2],
      ]),
      scenarios: new Map([['b', 'town_library']]),
    });
    assert.deepEqual(
      Object.entries(result.by_scenario).map(([name, { tasks, scored, passed }]) => [name, tasks, scored, passed]),
      [['town_library', 1, 2, 0]],
    );
    assert.deepEqual(Object.keys(result.by_level), ['2', '10']);
    assert.deepEqual(result.by_level['10'], {
      tasks: 1,
      scored: 2,
      passed: 1,
      solved: 1,
      pass_at: { 1: 0.5, 2: 1, 3: null },
      tasks_at: { 1: 1, 2: 1, 3: 0 },
      pass_all: { 1: 0.5, 2: 0, 3: null },
    });
    assert.deepEqual(result.by_tool, { find: { attempts: 2, passed: 1 }, renew: { attempts: 1, passed: 1 } });
    assert.deepEqual(result.ms, { p50: 200, p95: 5000, p99: 5000, max: 5000, total: 5600 });
    assert.equal(result.duplicates, 1);
  });

  it('takes no times of attempts that were cancelled or lost', () => {
    const unsettled = (attempt: number, status: 'cancelled' | 'infrastructure') =>
      row('a', attempt, { status, ms: 9000 }, { settles: false });
    const rows = [unsettled(1, 'cancelled'), unsettled(2, 'infrastructure')];
    assert.equal(createReport({ rows }).ms, null);
    assert.equal(createReport({ rows: [...rows, row('a', 3, { ...PASS, ms: 100 })] }).ms?.max, 100);
  });

  it('is the same for the same rows in any order', () => {
    const random = new Random(3);
    const rows = rowsOf(
      Object.fromEntries(
        Array.from({ length: 40 }, (_, i) => [
          `t${i}`,
          Array.from({ length: 4 }, () => (random.next() < 0.4 ? '+' : '-')).join(''),
        ]),
      ),
    );
    const shuffled = rows
      .map((value) => ({ value, key: random.next() }))
      .sort((a, b) => a.key - b.key)
      .map(({ value }) => value);
    assert.deepEqual(createReport({ rows: shuffled }), createReport({ rows }));
  });
});

describe('compareReports', () => {
  const here = { batch: 'new', rows: rowsOf({ a: '++', b: '+-', c: '--', d: '++' }) };
  const baseline = { batch: 'old', rows: rowsOf({ a: '+-', b: '+-', c: '+-', e: '++' }) };

  it('pairs the tasks that both have', () => {
    const result = comparisonSchema.parse(compareReports(here, baseline));
    assert.deepEqual([result.tasks, result.only_here, result.only_in_baseline], [3, ['d'], ['e']]);
    const first = result.pass_at?.['1'];
    near(first?.here, 0.5);
    near(first?.baseline, 0.5);
    near(first?.difference, 0);
    near(result.pass_all?.['2']?.difference, 1 / 3);
    assert.deepEqual([result.better, result.worse, result.same], [1, 1, 1]);
    assert.deepEqual(
      result.changed.map((task) => [task.task, task.difference]),
      [
        ['a', 0.5],
        ['c', -0.5],
      ],
    );
  });

  it('detects a difference that every task shares, however hard the tasks are', () => {
    const marks = (better: boolean): Record<string, string> =>
      Object.fromEntries(
        Array.from({ length: 20 }, (_, i) => [
          `t${i}`,
          i % 2 === 0 ? (better ? '+---' : '----') : better ? '++++' : '+++-',
        ]),
      );
    const result = compareReports(
      { batch: 'n', rows: rowsOf(marks(true)) },
      { batch: 'o', rows: rowsOf(marks(false)) },
    );
    assert.deepEqual(result.pass_at?.['1'], {
      here: 0.625,
      baseline: 0.375,
      difference: 0.25,
      interval: [0.25, 0.25],
      tasks: 20,
    });
  });

  it('says why there is nothing to compare', () => {
    const apart = compareReports({ batch: 'n', rows: rowsOf({ a: '+' }) }, { batch: 'o', rows: rowsOf({ b: '+' }) });
    assert.equal(apart.pass_at, null);
    assert.match(apart.why['pass_at'] ?? '', /no task in common/);
    const stopped = compareReports(here, { batch: 'o', rows: [...rowsOf({ a: '+' }), row('a', 2)], passesPerTask: 1 });
    assert.match(stopped.why['pass_at'] ?? '', /batch o: the batch stops/);
  });
});

describe('pass bars', () => {
  it('are parsed', () => {
    assert.deepEqual(parseFailUnder('pass@8=0.5'), [{ text: 'pass@8=0.5', metric: 'pass_at', k: 8, min: 0.5 }]);
    assert.deepEqual(
      parseFailUnder('pass^4 = 20%, pass@1=.25').map(({ metric, k, min }) => [metric, k, min]),
      [
        ['pass_all', 4, 0.2],
        ['pass_at', 1, 0.25],
      ],
    );
    for (const bad of ['', 'pass@0=0.5', 'pass@8', 'pass@8=1.5', 'pass@8=120%', 'pass8=1', 'pass@8=x', 'pass@1=0.5,']) {
      assert.throws(
        () => parseFailUnder(bad),
        (error) => StudioError.is(error, 'usage'),
        bad,
      );
    }
  });

  it('are reached at their value, and never by an unknown figure', () => {
    const result = createReport({ rows: rowsOf({ a: '+-', b: '--' }), ks: [5] });
    const check = (text: string): boolean => parseFailUnder(text).every((bar) => reaches(result, bar).ok);
    assert.ok(check('pass@1=0.25') && check('pass@2=0.5') && check('pass^2=0'));
    assert.ok(!check('pass@1=0.26'));
    assert.deepEqual(reaches(result, parseFailUnder('pass@5=0')[0]!), {
      ok: false,
      text: 'pass@5 is not available: no task has 5 scored attempts',
    });
    assert.match(reaches(result, parseFailUnder('pass@1=0.26')[0]!).text, /pass@1 is 0.250, under 0.26/);
  });
});
