/** A server's telemetry: metrics, logs for programs, traces of finished rollouts; and its shutdown. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { deferred } from '../../src/common/abort.ts';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson } from '../../src/common/json.ts';
import { submissionSha } from '../../src/config/submission.ts';
import { Api } from '../../src/protocol/api.ts';
import { fetchTransport } from '../../src/protocol/transport.ts';
import { startServer } from '../../src/server/server.ts';
import { openStore } from '../../src/store/open.ts';
import { attribute, Collector } from '../support/collector.ts';
import { FakeClient } from '../support/fakeClient.ts';
import { endingEvents, FakeWorker, openingEvents } from '../support/fakeWorker.ts';
import { PLAIN_SERVER } from '../support/plainServer.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';

/** Values by name and labels, as written. Fails on lines that violate the format. */
async function scrape(server: TestServer, token?: string): Promise<Map<string, number>> {
  const response = await server.fetch('/metrics', token === undefined ? {} : { token });
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  const text = await response.text();
  assert.ok(text.endsWith('\n'));
  const values = new Map<string, number>();
  const typed = new Set<string>();
  for (const line of text.trimEnd().split('\n')) {
    const type = /^# TYPE (rollout_[a-z0-9_]+) (counter|gauge|histogram)$/.exec(line);
    if (type !== null) {
      assert.ok(!typed.has(type[1]!), `${type[1]} once`);
      typed.add(type[1]!);
    }
    if (line.startsWith('#')) continue;
    const sample =
      /^((rollout_[a-z0-9_]+?)(?:_bucket|_sum|_count)?(?:\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\})?) (\S+)$/.exec(line);
    assert.ok(sample !== null, line);
    const [, name = '', , value = ''] = sample;
    assert.ok(!Number.isNaN(Number(value.replace('+Inf', 'Infinity'))), line);
    values.set(name, Number(value));
  }
  return values;
}

describe('metrics', () => {
  test('count what happened, for readers', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const batch = await server.submit(plainSubmission({ attempts: 2 }), tasks(2));
    const worker = await server.worker(batch, { slots: 8 });
    const client = await server.client();
    const [first, second] = await worker.lease(3);
    await worker.finish(first!, { passed: true });
    await worker.finish(second!, { passed: false });
    for (const [token, status] of [
      ['', 401],
      [await server.workerToken(batch), 403],
      ['wrong', 401],
    ] as const)
      assert.equal((await server.fetch('/metrics', { token })).status, status);

    const values = await scrape(server, server.file.read_token);
    const expected = {
      'rollout_rollouts{state="queued"}': 1,
      'rollout_rollouts{state="running"}': 1,
      'rollout_rollouts{state="held"}': 0,
      'rollout_attempts_settled{outcome="passed"}': 1,
      'rollout_attempts_settled{outcome="failed"}': 1,
      'rollout_attempts_settled{outcome="infrastructure"}': 0,
      'rollout_batches{state="running"}': 1,
      'rollout_batches{state="ended"}': 0,
      rollout_sessions: 1,
      rollout_session_slots: 8,
      rollout_connected_workers: 1,
      rollout_connected_clients: 1,
      rollout_leases_total: 3,
      rollout_queue_wait_seconds_count: 3,
      'rollout_queue_wait_seconds_bucket{le="+Inf"}': 3,
      'rollout_appends_total{result="stored"}': 4,
      'rollout_appends_total{result="fenced"}': 0,
      rollout_append_duration_seconds_count: 4,
      rollout_events_ingested_total: 10,
      'rollout_ended_total{outcome="passed"}': 1,
      'rollout_ended_total{outcome="failed"}': 1,
      rollout_server_draining: 0,
      'rollout_endpoint_up{endpoint="http://127.0.0.1:9/v1"}': 1,
    };
    for (const [name, value] of Object.entries(expected)) assert.equal(values.get(name), value, name);
    assert.ok(
      [...values.keys()].some((name) => /^rollout_build_info\{version="[^"]+",protocol="\d+",node="v\d/.test(name)),
      'build info',
    );
    for (const name of [
      'rollout_event_bytes_ingested_total',
      'rollout_process_cpu_seconds_total',
      'rollout_process_resident_memory_bytes',
      'rollout_process_start_time_seconds',
      'rollout_lease_duration_seconds_count',
      'rollout_endpoint_permits{endpoint="http://127.0.0.1:9/v1"}',
    ])
      assert.ok((values.get(name) ?? 0) > 0, name);

    // Appends to another's rollout count, too.
    worker.append({ rollout: 'r-none', epoch: 1 }, openingEvents(first!));
    await worker.frames.closed;
    assert.equal((await scrape(server)).get('rollout_appends_total{result="tampered"}'), 1);
    client.close();
  });

  test('are open without a token where that is configured', async () => {
    await using store = new TestStore();
    const server = await store.start(['--executor', 'none', '--metrics', 'open']);
    assert.equal((await scrape(server, '')).get('rollout_batches{state="running"}'), 0);
    assert.equal((await server.fetch('/v1/server', { token: '' })).status, 401, 'nothing else is');
  });
});

test('a log for programs has one object a line that names its subject', async () => {
  await using store = new TestStore();
  const server = await store.start(['--executor', 'none', '--log', 'json']);
  const batch = await server.submit(plainSubmission(), tasks(1));
  const worker = await server.worker(batch, { name: 'bad-worker' });
  worker.frames.send('{"type":"nonsense"}');
  assert.equal((await worker.frames.closed).code, 1008);
  await server.kill('SIGTERM');
  const lines = server.stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.ok(
    lines.every(
      ({ time, level, message }) =>
        typeof time === 'string' && typeof level === 'string' && typeof message === 'string',
    ),
    server.stderr,
  );
  const about = lines.find((line) => line['worker'] === 'bad-worker');
  assert.deepEqual([about?.['level'], about?.['batch']], ['warning', batch]);
  if (process.platform !== 'win32') assert.equal(lines.at(-1)?.['message'], 'the server is shutting down');
});

describe('traces of finished rollouts', () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres.stop());

  test('one of several servers exports them; another takes over when it dies @deep', async () => {
    await using collector = await Collector.start();
    await using store = new TestStore();
    const url = await postgres.createDatabase();
    const otlp = ['--otlp', collector.url];
    const here = await store.startOn(url, otlp);
    const there = await store.startOn(url, otlp);
    const batch = await here.submit(plainSubmission({ attempts: 6 }), tasks(1));
    const [near, far] = [await here.worker(batch), await there.worker(batch)];
    const rollouts: string[] = [];
    const finish = async (worker: FakeWorker): Promise<void> => {
      const [grant] = await worker.lease(1);
      await worker.finish(grant!, { passed: true });
      rollouts.push(grant!.rollout);
    };
    const came = (): unknown[] => collector.roots().map((root) => attribute(root, 'rollout.id'));
    for (const worker of [near, far, near, far]) await finish(worker);
    await collector.until(() => came().length >= 4, 'four traces');
    assert.deepEqual(came().sort(), [...rollouts].sort());

    await here.kill('SIGKILL');
    await finish(far);
    const last = rollouts.at(-1);
    await collector.until(() => came().includes(last), 'trace from the other server');
    await finish(far);
    assert.equal(await there.kill('SIGTERM'), process.platform === 'win32' ? null : 0);
    // Including rollouts that finished just before the end, and only this batch's.
    if (process.platform !== 'win32') assert.deepEqual([...new Set(came())].sort(), [...rollouts].sort());
    // What the second server exported again has the same IDs.
    assert.equal(new Set(collector.roots().map(({ spanId }) => spanId)).size, new Set(came()).size);
    assert.deepEqual(collector.wrong, []);
  });

  test('a collector that is down slows nothing down; it gets them once it is back', async () => {
    await using collector = await Collector.start();
    for (let n = 0; n < 2; n++) collector.answers.push({ status: 503, body: 'not yet' });
    await using store = new TestStore();
    const server = await store.start(['--executor', 'none', '--otlp', collector.url]);
    const batch = await server.submit(plainSubmission({ attempts: 3 }), tasks(1));
    const worker = await server.worker(batch);
    for (const grant of await worker.lease(3)) await worker.finish(grant, { passed: true });
    await collector.until(() => collector.requests.length >= 1, 'first request');
    assert.equal((await server.api.batch(batch)).state, 'ended');
    assert.equal((await scrape(server)).get('rollout_traces_waiting'), 3);
    await collector.until(() => collector.roots().length === 3, 'three traces');
    assert.equal(collector.requests.length, 3);
    await scrapeUntil(server, 'rollout_traces_total{result="exported"}', 3);
    assert.match(server.stderr, /is not available: status 503: not yet/);
    assert.match(server.stderr, /is available again/);
  });
});

/** The store's part of a scrape is a second old at most; counters are current. */
async function scrapeUntil(server: TestServer, name: string, value: number): Promise<void> {
  const end = performance.now() + 30_000;
  for (let found; (found = (await scrape(server)).get(name)) !== value; )
    assert.ok(performance.now() < end, `${name} is ${String(found)}, not ${value}`);
}

test('a server that shuts down is not ready, grants no leases, and sends clients everything stored', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-drain-'));
  const executorEnds = deferred<undefined>();
  const server = await startServer({
    store: await openStore(folder),
    secretsFolder: path.join(folder, 'secrets'),
    ...PLAIN_SERVER,
    executor: () => ({
      check: () => Promise.resolve([]),
      secrets: () => Promise.resolve(undefined),
      updateBatch: () => undefined,
      removeBatch: () => undefined,
      close: () => executorEnds.promise,
    }),
  });
  try {
    const url = `http://127.0.0.1:${server.port}`;
    const api = new Api(fetchTransport(() => ({ url, token: server.token })));
    const batch = newId('b');
    const submission = plainSubmission({ attempts: 4 });
    const sha = submissionSha(submission);
    await api.putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
    await api.createBatch({ batch, submission: sha, open: false, tasks: tasks(1) });
    const headers = { authorization: `Bearer ${server.token}` };
    const { token } = (await (
      await fetch(`${url}/v1/batches/${batch}/worker_token`, { method: 'POST', headers })
    ).json()) as { token: string };
    const worker = await FakeWorker.connect(url, token);
    const client = await FakeClient.connect(url, server.readToken);
    const [grant] = await worker.lease(1);
    await worker.appendAcked(grant!, openingEvents(grant!));
    client.subscribe('a', grant!.rollout);
    await client.frames.next('head');
    assert.equal((await fetch(`${url}/readyz`)).status, 200);

    const since = performance.now();
    const stopped = server.stop();
    assert.equal((await fetch(`${url}/readyz`)).status, 503);
    assert.equal((await fetch(`${url}/healthz`)).status, 200, 'it lives on');
    await assert.rejects(FakeClient.connect(url, server.token), /503/);
    worker.send({ type: 'lease', want: 2 });
    // What a worker still ends is stored, acknowledged, and visible.
    await worker.appendAcked(grant!, endingEvents(3, { passed: true }));
    executorEnds.resolve(undefined);
    assert.deepEqual((await client.eventsUntil('a', 5)).at(-1)?.kind, 'rollout.end');
    assert.deepEqual([(await client.frames.closed).code, (await worker.frames.closed).code], [1012, 1012]);
    await stopped;
    assert.ok(performance.now() - since < 10_000);
    assert.deepEqual(worker.frames.left('grant'), [], 'nothing was leased');
  } finally {
    executorEnds.resolve(undefined);
    rmSync(folder, { recursive: true, force: true });
  }
});
