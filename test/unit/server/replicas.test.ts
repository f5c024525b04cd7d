/** Permits, reports, and messages when replicas behind an endpoint come and go. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import type { Replica, Replicas } from '../../../src/protocol/replicas.ts';
import { BackPressure } from '../../../src/server/pressure/backPressure.ts';
import type { Caller } from '../../../src/server/pressure/options.ts';
import { until } from '../../support/until.ts';

const SERVICE = 'http://models:8000/v1';
/** By another name. */
const SAME_SERVICE = 'http://models.team.svc:8000/v1';
const url = (n: number): string => `http://10.0.0.${n}:8000/v1`;
const replica = (n: number, id = `uid ${n}`): Replica => ({ url: url(n), name: `vllm-${n}`, id });

function setUp() {
  const state = {
    now: 0,
    callers: [] as Caller[],
    reports: [] as string[],
    marks: [] as string[],
    pause: undefined as { by: string; since: number } | undefined,
    changes: 0,
    followed: new Map<string, (replicas: Replicas | undefined) => void>(),
  };
  const pressure = new BackPressure({
    callers: () => state.callers,
    changed: () => (state.changes += 1),
    demo: () => undefined,
    now: () => state.now,
    announced: () => (state.pause === undefined ? {} : { pause: state.pause }),
    trouble: (batch, { what, endpoint, all_replicas, text, ms }) => {
      assert.ok(all_replicas === true, 'calls to all replicas are concerned');
      state.marks.push(what);
      state.reports.push(`${batch} ${endpoint} ${text}${ms === undefined ? '' : ` (${ms} ms)`}`);
    },
    replicas: {
      follow: (endpoint, listener) => {
        if (endpoint !== SERVICE && endpoint !== SAME_SERVICE) return undefined;
        assert.ok(!state.followed.has(endpoint), 'it is followed once');
        state.followed.set(endpoint, listener);
        return () => state.followed.delete(endpoint);
      },
    },
  });
  closing.push(pressure);
  const report = (ready: readonly Replica[], ...draining: Replica[]): void =>
    state.followed.get(SERVICE)?.({ ready, draining: new Set(draining.map(({ id }) => id)) });
  return { state, pressure, report };
}

const closing: BackPressure[] = [];

describe('replicas of an endpoint', () => {
  afterEach(() => {
    for (const pressure of closing.splice(0)) pressure.close();
  });

  test('have permits each, instead of the endpoint', () => {
    const { state, pressure, report } = setUp();
    pressure.use('b1', [SERVICE], ['http://judge/v1'], 192);
    state.callers = [{ session: 's1', batch: 'b1', running: 12, demand: 12 }];
    assert.deepEqual(pressure.shares().get('s1')?.permits, { [SERVICE]: 192, 'http://judge/v1': 192 });
    assert.deepEqual(pressure.replicas('b1'), {});
    report([replica(1), replica(2), replica(3)]);
    assert.equal(state.changes, 1);
    assert.deepEqual(pressure.shares().get('s1')?.permits, {
      'http://judge/v1': 192,
      [url(1)]: 64,
      [url(2)]: 64,
      [url(3)]: 64,
    });
    assert.deepEqual(pressure.replicas('b1'), { [SERVICE]: [url(1), url(2), url(3)] });
    assert.deepEqual(pressure.replicas('b2'), {});
    pressure.report('b1', url(2), { what: 'busy', text: 'queue is full' });
    assert.deepEqual(pressure.shares().get('s1')?.permits, {
      'http://judge/v1': 192,
      [url(1)]: 64,
      [url(2)]: 0,
      [url(3)]: 64,
    });
    const rows = pressure
      .info()
      .map(({ endpoint, service, replica: name, state: how }) => [endpoint, service, name, how]);
    assert.deepEqual(rows, [
      ['http://judge/v1', undefined, undefined, 'ok'],
      ...[1, 2, 3].map((n) => [url(n), SERVICE, `vllm-${n}`, n === 2 ? 'busy' : 'ok']),
    ]);
    assert.deepEqual(state.reports, [], 'who was found first is no news');
  });

  test('take their limits with them when they leave; a new one at the same address starts over', () => {
    const { state, pressure, report } = setUp();
    pressure.use('b1', [SERVICE], [], undefined);
    report([replica(1), replica(2)]);
    state.callers = [{ session: 's1', batch: 'b1', running: 4, demand: 4 }];
    for (const n of [1, 2]) pressure.report('b1', url(n), { what: 'down', text: 'connect ECONNREFUSED' });
    report([replica(1, 'another pod'), replica(3)]);
    assert.deepEqual(
      pressure.info().map(({ endpoint, state: how }) => [endpoint, how]),
      [
        [url(1), 'ok'],
        [url(3), 'ok'],
      ],
    );
    // A worker that does not know about it yet.
    pressure.report('b1', url(2), { what: 'down', text: 'connect ECONNREFUSED' });
    pressure.report('b1', SERVICE, { what: 'down', text: 'getaddrinfo ENOTFOUND' });
    assert.deepEqual(
      pressure.info().map(({ endpoint }) => endpoint),
      [url(1), url(3)],
    );
    assert.deepEqual(state.reports, [
      `b1 ${SERVICE} Replica vllm-1 of ${SERVICE} was removed; Replica vllm-2 of ` +
        `${SERVICE} was removed; Replica vllm-1 ` +
        `of ${SERVICE} is ready; Replica vllm-3 of ${SERVICE} is ready. It now has 2 replicas.`,
    ]);
  });

  test('may all be away: calls wait for the endpoint, and the reason is reported', () => {
    const { state, pressure, report } = setUp();
    pressure.use('b1', [SERVICE], [], undefined);
    report([replica(1)]);
    report([]);
    assert.deepEqual(pressure.replicas('b1'), {});
    const [only] = pressure.info();
    assert.deepEqual(
      [only?.endpoint, only?.state, only?.permits, only?.text],
      [SERVICE, 'down', 0, 'none of its pods are ready'],
    );
    state.now = 5_000;
    pressure.report('b1', SERVICE, { what: 'down', text: 'getaddrinfo ENOTFOUND' });
    state.now = 8_000;
    pressure.report('b1', SERVICE, { what: 'down', text: 'getaddrinfo ENOTFOUND' });
    assert.match(state.reports[0] ?? '', /Replica vllm-1 of .* was removed\. No replica is ready\.$/);
    assert.match(state.reports[1] ?? '', /is not available: none of its pods are ready\./);
    report([replica(2)]);
    assert.deepEqual(
      pressure.info().map(({ endpoint, state: how }) => [endpoint, how]),
      [[url(2), 'ok']],
    );
    assert.match(state.reports[2] ?? '', /Replica vllm-2 of .* is ready\. It now has 1 replica\.$/);
  });

  test('drain before they end: the record says so, and how long it took', () => {
    const { state, pressure, report } = setUp();
    pressure.use('b1', [SERVICE], [], undefined);
    // One that drained before anybody looked is no news.
    report([replica(1), replica(2)], replica(9));
    report([replica(1), replica(2)]);
    assert.deepEqual(state.reports, []);

    // A rolling upgrade: the next one is there before the last one ends.
    report([replica(2), replica(3)], replica(1));
    assert.deepEqual(pressure.replicas('b1'), { [SERVICE]: [url(2), url(3)] });
    state.now = 12_300;
    report([replica(3)], replica(1), replica(2));
    state.now = 75_000;
    report([replica(3)], replica(2));
    // The last one is killed.
    state.now = 80_000;
    report([replica(3)]);
    report([]);
    const of = `of ${SERVICE}`;
    assert.deepEqual(state.reports, [
      `b1 ${SERVICE} Replica vllm-1 ${of} is draining and gets no new calls; Replica vllm-3 ${of} is ready. ` +
        'It now has 2 replicas.',
      `b1 ${SERVICE} Replica vllm-2 ${of} is draining and gets no new calls. It now has 1 replica.`,
      `b1 ${SERVICE} Replica vllm-1 ${of} ended after draining for 1 min 15 s. (75000 ms)`,
      `b1 ${SERVICE} Replica vllm-2 ${of} ended after draining for 1 min 8 s. (67700 ms)`,
      `b1 ${SERVICE} Replica vllm-3 ${of} was removed. No replica is ready.`,
    ]);
    const [draining, drained] = ['replica_draining', 'replica_drained'];
    assert.deepEqual(state.marks, [draining, draining, drained, drained, 'replica_removed']);
  });

  test('that drain are forgotten with their service', () => {
    const { state, pressure, report } = setUp();
    pressure.use('b1', [SERVICE], [], undefined);
    report([replica(1), replica(2)]);
    report([replica(1)], replica(2));
    state.followed.get(SERVICE)?.(undefined);
    report([replica(1)]);
    assert.equal(state.reports.length, 2);
    assert.match(state.reports[1] ?? '', /vllm-1 of .* was removed\. Calls now go to its own address\.$/);
  });

  test('are followed while a batch uses the endpoint, and forgotten after', () => {
    const { state, pressure, report } = setUp();
    pressure.use('b1', [SERVICE], [], 8);
    pressure.use('b2', [SERVICE], [], 8);
    report([replica(1)]);
    pressure.report('b1', url(1), { what: 'down', text: 'x' });
    pressure.release('b1');
    assert.equal(state.followed.size, 1);
    assert.deepEqual(Object.keys(pressure.replicas('b2')), [SERVICE]);
    pressure.release('b2');
    assert.equal(state.followed.size, 0);
    assert.deepEqual(pressure.info(), []);
  });

  test('stay known when a batch that calls their service by another name ends', () => {
    const { state, pressure, report } = setUp();
    pressure.use('b1', [SERVICE], [], 8);
    report([replica(1)]);
    pressure.use('b2', [SAME_SERVICE], [], 8);
    state.followed.get(SAME_SERVICE)?.({ ready: [replica(1)], draining: new Set() });
    pressure.release('b2');
    assert.deepEqual(
      pressure.info().map(({ endpoint, service, replica: name }) => [endpoint, service, name]),
      [[url(1), SERVICE, 'vllm-1']],
    );
  });

  test('are fully loaded while calls wait for the end of a pause, so that autoscalers keep them', () => {
    const { state, pressure, report } = setUp();
    pressure.use('b1', [SERVICE], [], 8);
    report([replica(1), replica(2)]);
    const loads = (): (number | undefined)[] => pressure.info().map(({ load }) => load);
    assert.deepEqual(loads(), [undefined, undefined], 'nobody knows yet');
    state.pause = { by: 'trainer', since: 0 };
    assert.deepEqual(loads(), [undefined, undefined], 'nothing runs');
    state.callers = [{ session: 's1', batch: 'b1', running: 4, demand: 4 }];
    assert.deepEqual(loads(), [1, 1]);
    state.pause = undefined;
    assert.deepEqual(loads(), [undefined, undefined]);
  });

  test('report their load as a share of what one of them runs at once; other services do not count', async (test) => {
    test.mock.timers.enable({ apis: ['setInterval'] });
    await using stack = new AsyncDisposableStack();
    const engine = async (running: number, waiting: number): Promise<string> => {
      const server = createServer((request, response) => {
        if (request.url === '/metrics')
          response.end(`vllm:num_requests_running ${running}\nvllm:num_requests_waiting ${waiting}\n`);
        else response.writeHead(404).end();
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      stack.defer(() => {
        server.close().closeAllConnections();
      });
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    };
    const [full, half, judge] = await Promise.all([engine(8, 3), engine(4, 0), engine(2, 0)]);
    const { pressure, report } = setUp();
    pressure.use('b1', [SERVICE], [judge], 8);
    report([
      { url: full, name: 'full', id: '1' },
      { url: half, name: 'half', id: '2' },
    ]);
    const found = (): ReadonlyMap<string, number | undefined> =>
      new Map(pressure.info().map(({ endpoint, load }) => [endpoint, load]));
    await until('all were read, and one twice', () => {
      test.mock.timers.tick(3_000);
      return found().get(full) !== undefined && pressure.info().every(({ running }) => running !== undefined);
    });
    assert.deepEqual(
      found(),
      new Map([
        [judge, undefined],
        [full, 1],
        [half, 0.5],
      ]),
    );
  });

  test('each add capacity for rollouts', () => {
    const { pressure, report } = setUp();
    pressure.use('b1', [SERVICE], [], undefined);
    const one = pressure.room('b1', [SERVICE]);
    report([replica(1), replica(2), replica(3)]);
    assert.equal(pressure.room('b1', [SERVICE]), 3 * one);
  });
});
