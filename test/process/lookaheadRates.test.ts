/** What looking ahead is worth: the sample's batch with it and without, whose figures are counted twice. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Comparison, Report } from '../../src/trace/statistics/schema.ts';
import { Bench } from '../support/cli.ts';
import { assertComparison, assertReport, callsOf } from '../support/recount.ts';
import { storedAttempts } from '../support/storedAttempts.ts';

const ATTEMPTS = 4;

describe('the sample’s desk with and without looking ahead', { timeout: 480_000 }, () => {
  let bench: Bench;
  let cwd: string;
  let [plain, ahead] = ['', ''];

  before(async () => {
    bench = new Bench();
    await bench.run(['init', 'desk'], { cwd: bench.folder });
    cwd = bench.path('desk');
    const run = async (name: string): Promise<string> => {
      const args = ['run', `batches/${name}.batch.yaml`, '--attempts', String(ATTEMPTS)];
      return (await bench.json<{ batch: string }>(args, { cwd })).batch;
    };
    plain = await run('desk');
    ahead = await run('lookahead');
  });
  after(() => bench.close());

  it('has paired tool success, parameter accuracy, and pass rate, as the store says', async () => {
    const [own, others] = [storedAttempts(bench.store, ahead), storedAttempts(bench.store, plain)];
    assert.equal(own.length, 12 * ATTEMPTS);
    const report = await bench.json<Report & { baseline: Comparison }>(['report', ahead, '--baseline', plain], { cwd });
    assertReport(report, own);
    assertReport(await bench.json<Report>(['report', plain], { cwd }), others);
    assertComparison(report.baseline, own, others);
    const { comparison } = await bench.json<{ comparison: Comparison }>(['compare', plain, ahead], { cwd });
    assert.deepEqual(comparison, report.baseline);

    const predicted = own.flatMap(({ events }) =>
      events.filter(({ kind, data }) => kind === 'tool.start' && data.name === 'predict'),
    );
    assert.ok(predicted.length > 0, 'the agent looks ahead');
    const started = own.flatMap(({ events }) => events.filter(({ kind }) => kind === 'tool.start')).length;
    const { calls } = report.baseline;
    assert.ok(calls !== null);
    assert.equal(calls.here.made, started - predicted.length, 'calls of predict do not count');
    assert.ok(calls.tool_success.difference > 0, 'foreseen refusals are not made');
  });

  it('has them in the text, and for each attempt in the CSV file', async () => {
    const { stdout } = await bench.run(['report', ahead, '--baseline', plain], { cwd });
    const { baseline, calls } = await bench.json<Report & { baseline: Comparison }>(
      ['report', ahead, '--baseline', plain],
      { cwd },
    );
    assert.ok(baseline.calls !== null && calls !== null);
    for (const [name, { here, baseline: before, difference }] of [
      ['tool success', baseline.calls.tool_success],
      ['parameter accuracy', baseline.calls.parameter_accuracy],
    ] as const) {
      const sign = difference < 0 ? '−' : '\\+';
      const figures = `${before.toFixed(3)} +${here.toFixed(3)} +${sign}${Math.abs(difference).toFixed(3)}`;
      assert.match(stdout, new RegExp(`^${name} +${figures} `, 'm'));
    }
    assert.ok(stdout.includes(`succeeded (${calls.succeeded} of ${calls.made})`), stdout);

    const file = bench.path('attempts.csv');
    await bench.run(['export', ahead, '--out', file], { cwd });
    const [head = '', ...lines] = readFileSync(file, 'utf8').trim().split('\r\n');
    const columns = head.split(',');
    const own = new Map(storedAttempts(bench.store, ahead).map((attempt) => [attempt.key, callsOf(attempt)]));
    assert.equal(lines.length, own.size);
    for (const line of lines) {
      const cells = [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell = '']) => cell);
      const cell = (name: string): string => cells[columns.indexOf(name)] ?? '';
      const made = own.get(`${cell('task')}/${cell('attempt')}`) ?? [];
      assert.deepEqual(
        [cell('ended_calls'), cell('succeeded_calls'), cell('valid_calls')],
        [made, made.filter(({ succeeded }) => succeeded), made.filter(({ valid }) => valid)].map(({ length }) =>
          String(length),
        ),
      );
    }
  });
});
