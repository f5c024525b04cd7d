import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BackPressure } from '../../../src/server/pressure/backPressure.ts';
import { EndpointLimit, START_PERMITS } from '../../../src/server/pressure/limit.ts';
import { metricsUrl, parseEngineLoad } from '../../../src/server/pressure/metrics.ts';
import type { Caller } from '../../../src/server/pressure/options.ts';
import { sharePermits } from '../../../src/server/pressure/shares.ts';

describe('the limit of an endpoint', () => {
  test('doubles per round until the endpoint first refuses, then grows by one per round', () => {
    const limit = new EndpointLimit(8);
    for (let call = 0; call < 8; call++) limit.ok(call, 100);
    assert.equal(limit.permits(10), 16);
    limit.refused('busy', 10);
    assert.equal(limit.permits(10), 0);
    limit.ok(300, 100);
    assert.deepEqual([limit.state, limit.permits(300)], ['ok', 8]);
    limit.ok(301, 100, 7);
    limit.ok(302, 100);
    assert.equal(limit.permits(400), 8, 'one round short of one more, because the limit grew in between');
    limit.ok(400, 100);
    assert.equal(limit.permits(400), 9);
  });

  test('does not grow while something else limits the calls', () => {
    const limit = new EndpointLimit(32);
    for (let call = 0; call < 1000; call++) limit.ok(call, 3);
    assert.equal(limit.permits(1000), 32);
  });

  test('counts simultaneous refusals as one; then one probe at a time, with a growing pause', () => {
    const limit = new EndpointLimit(64);
    for (let call = 0; call < 20; call++) limit.refused('down', 1000 + call);
    assert.deepEqual([limit.permits(1020), limit.changesAt(1020)], [0, 1519]);
    assert.equal(limit.permits(1519), 1);
    limit.refused('down', 1600);
    assert.deepEqual([limit.permits(2599), limit.permits(2600)], [0, 1]);
    limit.ok(2650, 64);
    assert.equal(limit.permits(2650), 32);
  });

  test('respects Retry-After, although earlier calls still succeed', () => {
    const limit = new EndpointLimit(4);
    limit.refused('busy', 0, 10_000);
    limit.ok(50, 4);
    assert.deepEqual([limit.permits(9_999), limit.permits(10_000)], [0, 1]);
    limit.ok(10_050, 4);
    assert.equal(limit.permits(10_050), 2);
  });

  test('restarts at half after a long outage', () => {
    const limit = new EndpointLimit(256);
    for (let at = 0; at < 60_000; at += 2_000) limit.refused('down', at);
    limit.ok(61_000, 256);
    assert.equal(limit.permits(61_000), 128);
  });

  test('ignores outdated signals of an engine that no longer reports', () => {
    const limit = new EndpointLimit(8);
    limit.load({ running: 4, waiting: 9, preemptions: 7 }, 0);
    limit.ok(100, 8, 8);
    assert.equal(limit.permits(100), 8);
    limit.load(undefined, 3_000);
    limit.ok(3_100, 8, 8);
    assert.equal(limit.permits(3_100), 16);
    limit.load({ running: 4, waiting: 9, preemptions: 9 }, 6_000);
    assert.equal(limit.permits(6_000), 16, 'the first queue of a new engine, and its own count');
  });

  test('never falls below one', () => {
    const limit = new EndpointLimit(2);
    for (let at = 0; at < 100_000; at += 5_000) {
      limit.refused('busy', at);
      limit.ok(at + 4_000, 2);
    }
    assert.equal(limit.permits(100_000), 1);
  });

  test("drops to the engine's capacity at a queue, a full cache, or preemptions", () => {
    const queued = new EndpointLimit(512);
    queued.load({ running: 20, waiting: 80 }, 0);
    assert.equal(queued.permits(0), 512, 'one queue may be a burst');
    queued.load({ running: 20, waiting: 80 }, 3_000);
    assert.equal(queued.permits(3_000), 85);
    queued.ok(3_100, 500);
    assert.equal(queued.permits(3_100), 85, 'no growth while it queues');
    queued.load({ running: 20, waiting: 0 }, 6_000);
    for (let call = 0; call < 100; call++) queued.ok(6_000, 500);
    assert.equal(queued.permits(6_000), 86);

    const full = new EndpointLimit(40);
    full.load({ running: 40, waiting: 0, kvCache: 0.97 }, 0);
    assert.equal(full.permits(0), 34);

    const preempting = new EndpointLimit(40);
    preempting.load({ running: 40, waiting: 0, preemptions: 7 }, 0);
    assert.equal(preempting.permits(0), 40);
    preempting.load({ running: 40, waiting: 0, preemptions: 8 }, 3_000);
    assert.equal(preempting.permits(3_000), 34);
  });
});

describe('shares', () => {
  test('add up, follow demand, and leave nobody without one', () => {
    assert.deepEqual(sharePermits(10, [0, 9], 0), [2, 8]);
    for (const permits of [3, 7, 64, 1000]) {
      const shares = sharePermits(permits, [1, 50, 3], 0);
      assert.equal(
        shares.reduce((sum, share) => sum + share, 0),
        permits,
      );
      assert.ok(Math.min(...shares) >= 1);
    }
    assert.deepEqual(sharePermits(0, [1, 2], 0), [0, 0]);
    assert.deepEqual(sharePermits(5, [], 0), []);
  });

  test('rotate among those that can use them when there are too few permits', () => {
    const turns = [0, 1, 2, 3].map((turn) => sharePermits(1, [4, 0, 4, 4], turn));
    assert.deepEqual(turns, [
      [1, 0, 0, 0],
      [0, 0, 1, 0],
      [0, 0, 0, 1],
      [1, 0, 0, 0],
    ]);
    assert.deepEqual(sharePermits(1, [0, 0], 1), [0, 1]);
  });
});

describe('metrics', () => {
  test('are read as vLLM writes them', () => {
    const load = parseEngineLoad(
      [
        '# HELP vllm:num_requests_running Number of requests in model execution batches.',
        'vllm:num_requests_running{engine="0",model_name="m"} 3.0',
        'vllm:num_requests_running{engine="1",model_name="m"} 4.0',
        'vllm:num_requests_waiting{engine="0",model_name="m"} 2.0',
        'vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 2.0',
        'vllm:kv_cache_usage_perc{engine="0"} 0.25',
        'vllm:kv_cache_usage_perc{engine="1"} 0.5',
        'vllm:num_preemptions_total{engine="0"} 7.0',
        'vllm:num_preemptions_created{engine="0"} 1.79e+09',
      ].join('\n'),
    );
    assert.deepEqual(load, { running: 7, waiting: 2, kvCache: 0.5, preemptions: 7 });
    assert.equal(parseEngineLoad('process_cpu_seconds_total 1\n'), undefined);
  });

  test('are next to /v1', () => {
    assert.equal(metricsUrl('http://gpu:8000/v1'), 'http://gpu:8000/metrics');
    assert.equal(metricsUrl('https://user:secret@gateway/models/a/v1/?key=1'), 'https://gateway/models/a/metrics');
    assert.equal(metricsUrl('demo:?slots=2'), undefined);
    assert.equal(metricsUrl('${env:VLLM_URL}'), undefined);
  });
});

describe('back-pressure', () => {
  function setUp() {
    const state = { now: 0, callers: [] as Caller[], changes: 0 };
    const pressure = new BackPressure({
      callers: () => state.callers,
      changed: () => (state.changes += 1),
      demo: () => undefined,
      now: () => state.now,
    });
    return { state, pressure };
  }

  test("shares an endpoint's limit between batches; a batch has no permits for what it does not use", () => {
    const { state, pressure } = setUp();
    pressure.use('b1', ['http://a/v1'], [], 8);
    pressure.use('b2', ['http://a/v1', 'http://b/v1'], ['http://judge/v1'], 100);
    state.callers = [
      { session: 's1', batch: 'b1', running: 4, demand: 4 },
      { session: 's2', batch: 'b2', running: 4, demand: 4 },
    ];
    const shares = pressure.shares();
    assert.deepEqual(Object.keys(shares.get('s1')!.permits), ['http://a/v1']);
    assert.deepEqual(shares.get('s2')!.permits, { 'http://a/v1': 25, 'http://b/v1': 50, 'http://judge/v1': 100 });
    assert.equal(shares.get('s1')!.permits['http://a/v1']! + shares.get('s2')!.permits['http://a/v1']!, 50);
    pressure.release('b2');
    assert.deepEqual(
      pressure.info().map(({ endpoint }) => endpoint),
      ['http://a/v1'],
    );
    pressure.close();
  });

  test('reports an unavailable endpoint and its recovery once to each batch', () => {
    const state = { now: 0, reports: [] as string[] };
    const pressure = new BackPressure({
      callers: () => [],
      changed: () => undefined,
      demo: () => undefined,
      now: () => state.now,
      trouble: (batch, { endpoint, text }) => state.reports.push(`${batch} ${endpoint} ${text}`),
    });
    const report = (at: number, batch: string, what: 'ok' | 'down' | 'busy'): void => {
      state.now = at;
      pressure.report(batch, 'http://me:pass@a/v1', { what, text: 'connect ECONNREFUSED' });
    };
    pressure.use('b1', ['http://me:pass@a/v1'], [], 8);
    for (const at of [0, 1_000, 1_400]) report(at, 'b1', 'down');
    report(1_450, 'b1', 'ok'); // soon over
    for (const at of [10_000, 11_000, 13_000, 15_000]) report(at, 'b1', 'down');
    report(16_000, 'b2', 'busy');
    report(17_000, 'b1', 'ok');
    report(18_000, 'b1', 'ok');
    assert.deepEqual(
      state.reports.map((text) => text.split(' The ')[0]),
      ['b1 http://a/v1', 'b2 http://a/v1', 'b1 http://a/v1', 'b2 http://a/v1'],
    );
    assert.match(state.reports[0]!, /is not available: connect ECONNREFUSED\. Calls wait for it/);
    assert.match(state.reports[3]!, /is available again\.$/);
    assert.doesNotMatch(state.reports.join(), /pass/);
    pressure.close();
  });

  test('makes rollouts follow permits with concurrency auto, and one probes whether a dead endpoint is back', () => {
    const { state, pressure } = setUp();
    pressure.use('b1', ['http://a/v1'], [], undefined);
    assert.equal(pressure.room('b1', ['http://a/v1']), START_PERMITS * 2);
    state.callers = [{ session: 's1', batch: 'b1', running: 60, demand: 60 }];
    assert.equal(pressure.room('b1', ['http://a/v1']), START_PERMITS * 2 - 60);
    pressure.report('b1', 'http://a/v1', { what: 'down', text: 'refused' });
    assert.ok(state.changes > 0);
    assert.equal(pressure.room('b1', ['http://a/v1']), 0);
    state.callers = [];
    assert.equal(pressure.room('b1', ['http://a/v1']), 1);
    pressure.close();
  });

  test('shows no credentials of an endpoint', () => {
    const { pressure } = setUp();
    pressure.use('b1', ['http://user:secret@a/v1'], [], 1);
    assert.equal(pressure.info()[0]!.endpoint, 'http://a/v1');
    pressure.close();
  });
});
