/**
 * A real server and a real worker, whose model's replicas come and go: calls stay where their prefix is, and move when
 * they must.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson } from '../../src/common/json.ts';
import { submissionSha } from '../../src/config/submission.ts';
import { byAffinity } from '../../src/model/endpoint.ts';
import { Api } from '../../src/protocol/api.ts';
import type { Replicas } from '../../src/protocol/replicas.ts';
import { fetchTransport } from '../../src/protocol/transport.ts';
import { startServer } from '../../src/server/server.ts';
import { openStore } from '../../src/store/open.ts';
import type { EventData } from '../../src/trace/schema.ts';
import type { TaskRecord } from '../../src/trace/task.ts';
import { answerText, callsOf, type FakeEndpoint, fakeEndpoint, namesByEndpoint, refuse } from '../support/endpoint.ts';
import { PLAIN_SERVER } from '../support/plainServer.ts';
import { plainSubmission } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';

/** A name that nothing answers to. */
const SERVICE = 'http://models.invalid:8000/v1';
const TASKS = 12;
const PATIENCE_MS = 60_000;

test('replicas that come and go keep affinity, have their own permits, and lose nothing', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-replicas-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

  const answers = (_: unknown, response: ServerResponse): void => answerText(response, 'yes');
  const open = async (script: Parameters<typeof fakeEndpoint>[0]): Promise<FakeEndpoint> =>
    stack.use(await fakeEndpoint(script));
  let hangs = false;
  let refuses = false;
  const a = await open(answers);
  const b = await open((request, response) => {
    if (!hangs) answers(request, response);
  });
  const c = await open(answers);
  const d = await open((request, response) => {
    if (refuses) refuse(response, 503, { message: 'the queue is full' }, { 'retry-after': '2' });
    else answers(request, response);
  });
  const names = new Map([
    [a, 'pod-a'],
    [b, 'pod-b'],
    [c, 'pod-c'],
    [d, 'pod-d'],
  ]);
  const replicas = (ready: FakeEndpoint[], ...draining: FakeEndpoint[]): Replicas => ({
    ready: ready.map((each) => ({ url: each.url, name: names.get(each) ?? '', id: each.url })),
    draining: new Set(draining.map((each) => each.url)),
  });
  let report: ((found: Replicas) => void) | undefined;

  const server = await startServer({
    store: await openStore(folder),
    secretsFolder: path.join(folder, 'secrets'),
    ...PLAIN_SERVER,
    executor: undefined,
    replicas: {
      follow: (endpoint, on) => {
        assert.equal(endpoint, SERVICE);
        report = on;
        on(replicas([a, b, c]));
        return () => undefined;
      },
    },
  });
  stack.defer(() => server.stop());
  const url = `http://127.0.0.1:${server.port}`;
  const api = new Api(fetchTransport(() => ({ url, token: server.token })));
  const fetched = async (pathname: string, method = 'GET'): Promise<string> =>
    (await fetch(`${url}${pathname}`, { method, headers: { authorization: `Bearer ${server.token}` } })).text();

  const plain = plainSubmission({ attempts: 2, concurrency: 64 });
  const submission = { ...plain, agent: { ...plain.agent, model: { ...plain.agent.model, endpoints: [SERVICE] } } };
  const sha = submissionSha(submission);
  await api.putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
  const batch = newId('b');
  const task = (id: string): TaskRecord => ({ id, question: '?', answer: 'yes', meta: {} });
  const tasks = (round: number, among: FakeEndpoint[]): TaskRecord[] =>
    namesByEndpoint(among, `round ${round}, task `, TASKS / among.length).map(task);
  await api.createBatch({ batch, submission: sha, open: true, tasks: tasks(0, [a, b, c]) });
  const { token } = JSON.parse(await fetched(`/v1/batches/${batch}/worker_token`, 'POST')) as { token: string };
  const worker = stack.use(
    new TestWorker({ server: url, token, batch, worker: 'by-hand', slots: 64, work: path.join(folder, 'work') }),
  );

  const until = async (what: string, so: () => boolean | Promise<boolean>): Promise<void> => {
    for (
      const end = performance.now() + PATIENCE_MS;
      performance.now() < end;
      await new Promise((resolve) => setTimeout(resolve, 20))
    )
      if (await so()) return;
    assert.fail(`not so: ${what}\n${worker.stderr}`);
  };
  const reports = async (): Promise<EventData['infra'][]> =>
    (await api.events(batch)).events.flatMap((event) => (event.kind === 'infra' ? [event.data] : []));
  const passed = (count: number) => async (): Promise<boolean> => (await api.batch(batch)).counts.passed === count;
  /** Where each task of a round was called, by the trajectories of its attempts. */
  const calledAt = async (round: number): Promise<Map<string, Set<string>>> => {
    const found = new Map<string, Set<string>>();
    for (const row of (await api.rollouts(batch, { limit: 500 })).rollouts) {
      if (!row.task.startsWith(`round ${round},`)) continue;
      const { events } = await api.events(row.rollout);
      const at = found.get(row.task) ?? new Set();
      for (const event of events) if (event.kind === 'model.start') at.add(event.data.endpoint ?? '');
      found.set(row.task, at);
    }
    return found;
  };
  const assertAffinity = async (round: number, among: FakeEndpoint[]): Promise<void> => {
    for (const [task, at] of await calledAt(round))
      assert.deepEqual(
        [...at],
        [
          byAffinity(
            among.map((each) => each.url),
            task,
          )[0],
        ],
        task,
      );
  };
  const describeReplicas = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await api.server()).endpoints.map(({ replica, state, permits, service }) => {
        assert.equal(service, SERVICE);
        return [replica ?? '', `${state} ${permits > 0 ? 'some' : 'none'}`];
      }),
    );

  await until('all are answered', passed(2 * TASKS));
  await assertAffinity(0, [a, b, c]);
  for (const each of [a, b, c]) assert.equal(callsOf(each), (2 * TASKS) / 3, 'each has its share');
  assert.deepEqual(await describeReplicas(), { 'pod-a': 'ok some', 'pod-b': 'ok some', 'pod-c': 'ok some' });
  assert.match(
    await fetched('/metrics'),
    new RegExp(`rollout_endpoint_permits\\{endpoint="${a.url}",service="${SERVICE}",replica="pod-a"\\} \\d+`),
  );

  // One leaves in the middle of its calls, and does not answer them: they go to the others, and only they move.
  hangs = true;
  const before = callsOf(b);
  await api.appendTasks(batch, TASKS, tasks(1, [a, b, c]));
  const ofB = (2 * TASKS) / 3;
  await until(
    'it has its calls, the others theirs',
    async () => callsOf(b) === before + ofB && (await passed(4 * TASKS - ofB)()),
  );
  report?.(replicas([a, c], b));
  await until('its end has begun', async () => (await reports()).length === 1);
  await b[Symbol.asyncDispose]();
  report?.(replicas([a, c]));
  await until('its calls were answered elsewhere', passed(4 * TASKS));
  await assertAffinity(1, [a, b, c]);
  assert.deepEqual(
    await describeReplicas(),
    { 'pod-a': 'ok some', 'pod-c': 'ok some' },
    'nothing is left of the one that went',
  );

  // Another joins, and takes its share immediately.
  report?.(replicas([a, c, d]));
  let all = 2 * TASKS;
  for (let probe = 0; callsOf(d) === 0; probe++) {
    // The worker learns of it with a delay.
    const id = `probe ${probe}`;
    if (
      byAffinity(
        [a, c, d].map((each) => each.url),
        id,
      )[0] !== d.url
    )
      continue;
    await api.appendTasks(batch, all, [task(id)]);
    await until('the probe is answered', passed(2 * ++all));
  }
  await api.appendTasks(batch, all, tasks(2, [a, c, d]));
  await until('all are answered', passed(2 * (all += TASKS)));
  await assertAffinity(2, [a, c, d]);

  // One that refuses has no permits for a while; the others keep theirs.
  refuses = true;
  await api.appendTasks(batch, all, tasks(3, [a, c, d]));
  await until('it counts as busy', async () => (await describeReplicas())['pod-d'] === 'busy none');
  assert.deepEqual(await describeReplicas(), { 'pod-a': 'ok some', 'pod-c': 'ok some', 'pod-d': 'busy none' });
  await until('all are answered', passed(2 * (all + TASKS)));

  await api.commandBatch(batch, { command: newId('c'), verb: 'seal' });
  assert.equal(await worker.exited, 0, worker.stderr);
  const [draining, ended, added] = await reports();
  assert.equal(draining?.text, `Replica pod-b of ${SERVICE} is draining and gets no new calls. It now has 2 replicas.`);
  assert.match(ended?.text ?? '', /^Replica pod-b of \S+ ended after draining for \d/);
  assert.ok(ended?.ms !== undefined && ended.ms > 0, 'the axis draws its time');
  assert.equal(added?.text, `Replica pod-d of ${SERVICE} is ready. It now has 3 replicas.`);
});
