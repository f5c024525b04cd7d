/** Means of values: micro over attempts, macro over levels, and what does not count. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { reportText } from '../../../../src/client/text/reportText.ts';
import { BENCH_NAMES, PUBLISHED_SCORES } from '../../../../src/trace/statistics/agentWorldBench.ts';
import { reportSchema } from '../../../../src/trace/statistics/schema.ts';
import { report } from '../../../../src/trace/statistics.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../../src/trace/summary.ts';

function row(task: string, reward: number | null | undefined, state: RolloutRow['state'] = 'ended'): RolloutRow {
  const passed = typeof reward === 'number' ? reward >= 0.5 : null;
  return {
    rollout: `r-${task}`,
    batch: 'b',
    task,
    task_index: 0,
    attempt: 1,
    try: 1,
    state,
    epoch: 1,
    last: 1,
    settles: state === 'ended',
    rev: 1,
    progress: {
      ...EMPTY_PROGRESS,
      ...(state === 'ended' ? { status: 'done', passed, reward: reward ?? null } : {}),
    },
  };
}
const LEVELS = new Map([
  ['m1', 'mcp'],
  ['m2', 'mcp'],
  ['m3', 'mcp'],
  ['t1', 'terminal'],
  ['t2', 'terminal'],
  ['w1', 'web'],
]);
const ROWS = [row('m1', 1), row('m2', 0.5), row('m3', 0.75), row('t1', 0.25), row('t2', null), row('w1', null)];

it('counts what has no value, and leaves it out of the means', () => {
  const { value } = report({ batch: 'b', rows: [...ROWS, row('m4', undefined, 'running')], levels: LEVELS });
  assert.deepEqual(value, {
    mean: 0.625,
    macro: (0.75 + 0.25) / 2,
    scored: 4,
    missing: 2,
    by_level: {
      mcp: { mean: 0.75, scored: 3, missing: 0 },
      terminal: { mean: 0.25, scored: 1, missing: 1 },
      web: { mean: null, scored: 0, missing: 1 },
    },
    marks: {},
    judge: null,
  });
});

it('has the means of marks by level, of attempts that were scored', () => {
  const marked = (one: RolloutRow, marks: Readonly<Record<string, number>>): RolloutRow => ({
    ...one,
    progress: { ...one.progress, marks: { ...marks } },
  });
  const rows = [
    marked(row('m1', 0.75), { realism: 4, format: 5 }),
    marked(row('m2', 0.25), { format: 2 }),
    marked(row('t1', 0.5), { format: 3, realism: 3 }),
    marked(row('t2', null), { format: 1 }),
  ];
  const result = reportSchema.parse(report({ batch: 'b', rows, levels: LEVELS }));
  assert.deepEqual(result.value?.marks, {
    format: { mean: 10 / 3, scored: 3, by_level: { mcp: 3.5, terminal: 3 } },
    realism: { mean: 3.5, scored: 2, by_level: { mcp: 4, terminal: 3 } },
  });
  const lines = reportText(result, 120).split('\n');
  const at = lines.findIndex((line) => line.startsWith('marks'));
  assert.deepEqual(
    lines.slice(at, at + 4).map((line) => line.split(/ +/)),
    [
      ['marks', 'format', 'realism'],
      ['mcp', '3.50', '4.00'],
      ['terminal', '3.00', '3.00'],
      ['all', '3.33', '3.50'],
    ],
  );
});

it('is absent where values only say whether attempts passed', () => {
  assert.equal(report({ batch: 'b', rows: [row('m1', 1), row('t1', 0)], levels: LEVELS }).value, null);
  assert.notEqual(report({ batch: 'b', rows: [row('m1', 1)], levels: LEVELS, judge: 'j' }).value, null);
});

it('is shown with the published scores for AgentWorldBench, and says that the judge counts', () => {
  const bench = report({ batch: 'b', rows: ROWS, levels: LEVELS, judge: 'my-judge' });
  assert.deepEqual(reportSchema.parse(bench).value, bench.value);
  const text = reportText(bench, 120);
  assert.match(text, /from 0 to 100, judged by my-judge/);
  assert.match(text, /this batch +75\.00 +– +25\.00 +– +– +– +– +50\.00/);
  assert.match(text, /scored rows +3 +0 +1\/2 +0 +0 +0\/1 +0/);
  assert.match(text, /Qwen-AgentWorld-35B-A3B +64\.79 .* 56\.39/);
  assert.match(text, /2 attempts without a value: not in the means/);
  assert.match(text, /micro 62\.50/);
  assert.match(text, /Compare only under one judge/);
  for (const line of text.split('\n')) assert.ok(line.length <= 140, line);
  const plain = reportText(report({ batch: 'b', rows: ROWS, levels: LEVELS }), 120);
  assert.match(plain, /mcp +3 +0 +0\.750/);
  assert.match(plain, /mean of levels +0\.500/);
  assert.doesNotMatch(plain, /published/);
});

it('has published scores whose macro is the mean of their domains, as far as they were rounded', () => {
  for (const { model, scores, macro } of PUBLISHED_SCORES) {
    const mean = BENCH_NAMES.reduce((sum, domain) => sum + scores[domain], 0) / BENCH_NAMES.length;
    assert.ok(Math.abs(mean - macro) < 0.06, `${model}: ${mean} is not ${macro}`);
  }
});
