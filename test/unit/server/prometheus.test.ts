import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idTime, newId } from '../../../src/common/ids.ts';
import { Counters } from '../../../src/server/telemetry/counters.ts';
import { Counter, Exposition, Histogram } from '../../../src/server/telemetry/prometheus.ts';

test('metrics are written once each, with help, type and all samples', () => {
  const calls = new Counter('result', ['ok']);
  calls.add();
  calls.add(2, 'ok');
  const out = new Exposition();
  out.gauge('rollout_a', 'A back\\slash and\nanother line.', 1.5);
  out.counter('rollout_b_total', 'B.', [
    { value: 3, labels: { endpoint: 'http://x/"y"\\z\n', other: 'ü' } },
    { value: Infinity },
  ]);
  out.gauge('rollout_none', 'No samples: left out.', []);
  out.counter(
    'rollout_calls_total',
    'Calls.',
    calls.samples().filter(({ labels }) => labels?.['result'] === 'ok'),
  );
  assert.equal(
    out.toString(),
    [
      '# HELP rollout_a A back\\\\slash and\\nanother line.',
      '# TYPE rollout_a gauge',
      'rollout_a 1.5',
      '# HELP rollout_b_total B.',
      '# TYPE rollout_b_total counter',
      'rollout_b_total{endpoint="http://x/\\"y\\"\\\\z\\n",other="ü"} 3',
      'rollout_b_total +Inf',
      '# HELP rollout_calls_total Calls.',
      '# TYPE rollout_calls_total counter',
      'rollout_calls_total{result="ok"} 2',
      '',
    ].join('\n'),
  );
});

test('the buckets of a histogram add up, and a value on a bound is below it', () => {
  const histogram = new Histogram([0.1, 1]);
  for (const value of [0.05, 0.1, 0.5, 7]) histogram.observe(value);
  const out = new Exposition();
  out.histogram('rollout_h_seconds', 'H.', histogram);
  assert.deepEqual(out.toString().split('\n').slice(2), [
    'rollout_h_seconds_bucket{le="0.1"} 2',
    'rollout_h_seconds_bucket{le="1"} 3',
    'rollout_h_seconds_bucket{le="+Inf"} 4',
    'rollout_h_seconds_sum 7.65',
    'rollout_h_seconds_count 4',
    '',
  ]);
});

test('the queue’s wait follows from the ID, for the first holder only', () => {
  const counters = new Counters();
  const id = newId('r', Date.now() - 2_500);
  assert.ok(Math.abs((idTime(id) ?? 0) - (Date.now() - 2_500)) < 1_000);
  assert.deepEqual([idTime('r-mine'), idTime('rIIIIIIIIII1234567')], [undefined, undefined]);
  counters.leased(id, 1);
  counters.leased(id, 2);
  counters.leased('r-mine', 1);
  const sample = (of: Histogram, suffix: string): number => of.samples().find((one) => one.suffix === suffix)!.value;
  assert.deepEqual([counters.leases.samples()[0]!.value, sample(counters.queueSeconds, '_count')], [3, 1]);
  const waited = sample(counters.queueSeconds, '_sum');
  assert.ok(waited >= 2.5 && waited < 30, String(waited));
});

test('ends reported by workers are counted by outcome', () => {
  const counters = new Counters();
  const totals = { steps: 0, tool_calls: 0 };
  const end = { passed: true, reward: 1, answer: '', touched: false, totals };
  counters.rolloutEnded({ ...end, status: 'done' });
  counters.rolloutEnded({ ...end, status: 'truncated', passed: false });
  counters.rolloutEnded({ ...end, status: 'infrastructure', passed: null });
  const counted = counters.ended
    .samples()
    .filter(({ value }) => value > 0)
    .map(({ labels }) => labels?.['outcome']);
  assert.deepEqual(counted, ['passed', 'truncated', 'infrastructure']);
});
