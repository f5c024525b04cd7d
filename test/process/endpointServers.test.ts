/** Pauses of model endpoints over several servers, and over the replicas behind one endpoint. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson } from '../../src/common/json.ts';
import { submissionSha } from '../../src/config/submission.ts';
import { Api } from '../../src/protocol/api.ts';
import { fetchTransport } from '../../src/protocol/transport.ts';
import { startServer } from '../../src/server/server.ts';
import { openStore } from '../../src/store/open.ts';
import { answerText, callsOf, chatEndpoint, namesByEndpoint } from '../support/endpoint.ts';
import { PLAIN_SERVER } from '../support/plainServer.ts';
import { startPostgres } from '../support/postgres.ts';
import { plainSubmission, TestStore, tasks } from '../support/rolloutServer.ts';
import { until } from '../support/until.ts';
import { TestWorker } from '../support/workerProcess.ts';

/** A name that nothing answers to. */
const SERVICE = 'http://models.invalid:8000/v1';

function submissionFor(endpoint: string) {
  const plain = plainSubmission({ attempts: 1 });
  return { ...plain, agent: { ...plain.agent, model: { ...plain.agent.model, endpoints: [endpoint] } } };
}

test('a pause at one server waits for the calls of the workers of another one', async () => {
  await using stack = new AsyncDisposableStack();
  const postgres = await startPostgres();
  stack.defer(() => postgres.stop());
  const store = stack.use(new TestStore());
  const url = await postgres.createDatabase();
  const here = await store.startOn(url);
  const there = await store.startOn(url);
  const open = new Set<ServerResponse>();
  const answering = { on: false };
  const model = stack.use(
    await chatEndpoint((_, response) => {
      if (answering.on) answerText(response, 'yes');
      else open.add(response);
    }),
  );
  const batch = await here.submit(
    submissionFor(model.url),
    tasks(4).map((task) => ({ ...task, answer: 'yes' })),
  );
  const worker = stack.use(
    await TestWorker.start({ folder: path.join(store.folder, 'w') }, there, batch, { slots: 2, discovery: undefined }),
  );
  await until('the calls run', () => open.size === 2);
  const pause = here.api.setEndpoint({ endpoint: model.url, state: 'paused', version: 1 });
  const stateOf = async (server: typeof here): Promise<string | undefined> =>
    (await server.api.endpoints()).find(({ endpoint }) => endpoint === model.url)?.state;
  await until('the other server knows', async () => (await stateOf(there)) === 'pausing');
  for (const response of open) answerText(response, 'yes');
  assert.deepEqual([(await pause).state, (await pause).calls], ['paused', 0]);
  await until('the other server knows that, too', async () => (await stateOf(there)) === 'paused');
  await until('others wait', async () => (await here.api.batch(batch)).counts.running === 2);
  assert.equal(callsOf(model), 2);
  answering.on = true;
  await there.api.setEndpoint({ endpoint: model.url, state: 'serving', version: 2 });
  assert.equal(await worker.exited, 0, worker.stderr);
  assert.equal((await here.api.batch(batch)).counts.passed, 4);
});

test('one of two replicas is paused: its calls go to the other one, and come back', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-replicas-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const yes = (_: unknown, response: ServerResponse): void => answerText(response, 'yes');
  const a = stack.use(await chatEndpoint(yes));
  const b = stack.use(await chatEndpoint(yes));
  const server = await startServer({
    store: await openStore(folder),
    secretsFolder: path.join(folder, 'secrets'),
    ...PLAIN_SERVER,
    executor: undefined,
    replicas: {
      follow: (_, report) => {
        report({
          ready: [
            { url: a.url, name: 'pod-a', id: 'a' },
            { url: b.url, name: 'pod-b', id: 'b' },
          ],
          draining: new Set(),
        });
        return () => undefined;
      },
    },
  });
  stack.defer(() => server.stop());
  const url = `http://127.0.0.1:${server.port}`;
  const api = new Api(fetchTransport(() => ({ url, token: server.token })));
  const submission = submissionFor(SERVICE);
  const sha = submissionSha(submission);
  await api.putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
  const batch = newId('b');
  const round = (name: string) =>
    namesByEndpoint([a, b], `${name} `, 3).map((id) => ({ id, question: '?', answer: 'yes', meta: {} }));
  await api.createBatch({ batch, submission: sha, open: true, tasks: round('first') });
  const reply = await fetch(`${url}/v1/batches/${batch}/worker_token`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}` },
  });
  const { token } = (await reply.json()) as { token: string };
  await until('the endpoint is known', async () => (await api.endpoints()).length > 0);
  await api.setEndpoint({ endpoint: SERVICE, state: 'serving', version: 1 });
  await api.setEndpoint({ endpoint: SERVICE, replica: 'pod-a', state: 'paused' });
  const worker = stack.use(
    new TestWorker({ server: url, token, batch, worker: 'w', slots: 8, work: path.join(folder, 'work') }),
  );
  await until('the first tasks passed', async () => (await api.batch(batch)).counts.passed === 6);
  assert.deepEqual([callsOf(a), callsOf(b)], [0, 6]);
  const paused = (await api.server()).endpoints.filter(({ pause }) => pause !== undefined);
  assert.deepEqual(
    paused.map(({ replica }) => replica),
    ['pod-a'],
  );

  await api.setEndpoint({ endpoint: SERVICE, replica: 'pod-a', state: 'serving', version: 2 });
  await api.appendTasks(batch, 6, round('second'));
  await until('all passed', async () => (await api.batch(batch)).counts.passed === 12);
  assert.deepEqual([callsOf(a), callsOf(b)], [3, 9]);
  for await (const row of api.allRollouts(batch)) {
    const { events } = await api.events(row.rollout);
    for (const event of events) {
      if (event.kind !== 'model.end') continue;
      const start = events.find(({ seq }) => seq === event.span);
      const isA = start?.kind === 'model.start' && start.data.endpoint === a.url;
      assert.equal(event.data.weights, isA ? '2' : '1', 'each replica has its own version');
      assert.deepEqual(row.progress.weights, { desk: isA ? ['2', '2'] : ['1', '1'] });
    }
  }
  const states = (await api.endpoints()).map(({ replica, version, state }) => [replica, version, state]);
  assert.deepEqual(states, [
    [undefined, 1, 'serving'],
    ['pod-a', 2, 'serving'],
  ]);
  await worker.kill();
});
