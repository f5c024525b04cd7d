/** The server's services for its executor, with the server in this process. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson } from '../../src/common/json.ts';
import type { SandboxMode } from '../../src/config/schema/sandboxSection.ts';
import { DEFAULT_SANDBOX, submissionSha } from '../../src/config/submission.ts';
import type { ClusterHost, ExecutorHost } from '../../src/executor/executor.ts';
import { NoSandboxReports } from '../../src/executor/kubernetes/noSandbox.ts';
import { Api } from '../../src/protocol/api.ts';
import { fetchTransport } from '../../src/protocol/transport.ts';
import { startServer } from '../../src/server/server.ts';
import { openStore } from '../../src/store/open.ts';
import { FakeWorker, openingEvents } from '../support/fakeWorker.ts';
import { PLAIN_SERVER } from '../support/plainServer.ts';
import { plainSubmission, tasks } from '../support/rolloutServer.ts';

const NO_NEEDS = { check: () => Promise.resolve([]), secrets: () => Promise.resolve(undefined) };

test('a worker’s end frees its rollouts immediately; a try that loses worker after worker is given up', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-host-'));
  const updates: number[] = [];
  let host: ExecutorHost | undefined;
  const server = await startServer({
    store: await openStore(folder),
    secretsFolder: path.join(folder, 'secrets'),
    ...PLAIN_SERVER,
    executor: (executorHost) => {
      host = executorHost;
      return {
        ...NO_NEEDS,
        updateBatch: (record) => updates.push(record.row.counts.queued),
        removeBatch: () => updates.push(-1),
        close: () => Promise.resolve(),
      };
    },
  });
  try {
    assert.ok(host !== undefined);
    const url = `http://127.0.0.1:${server.port}`;
    assert.equal(host.url, url);
    const api = new Api(fetchTransport(() => ({ url, token: server.token })));
    const batch = newId('b');
    const submission = plainSubmission({ attempts: 1, retry: { infrastructure: 0 } });
    const sha = submissionSha(submission);
    await api.putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
    await api.createBatch({ batch, submission: sha, open: false, tasks: tasks(1) });
    let epoch = 0;
    for (let death = 0; (await api.batch(batch)).state !== 'ended'; death++) {
      const worker = await FakeWorker.connect(url, host.token(batch), { name: `local-${death}` });
      const [grant] = await worker.lease(1);
      assert.equal(grant!.epoch, epoch + 1);
      epoch = grant!.epoch;
      if (death === 0) {
        await worker.appendAcked(grant!, openingEvents(grant!));
        assert.deepEqual(await host.workers(batch), ['local-0']);
        assert.equal(host.drain('local-0'), true);
        assert.equal((await worker.frames.next('control')).verb, 'drain');
        assert.equal(host.drain('somebody'), false);
      }
      assert.equal(await host.workerEnded(batch, `local-${death}`, 'The worker was killed by SIGKILL.', true), true);
      worker.close();
    }
    assert.equal(epoch, 25);
    const [row] = (await api.rollouts(batch)).rollouts;
    assert.deepEqual(
      [row!.progress.status, row!.progress.error_message],
      ['infrastructure', '25 workers died while running this rollout. Last one: The worker was killed by SIGKILL.'],
    );
    assert.equal(await host.workerEnded(batch, 'nobody', 'gone', false), false);
    while (updates.at(-1) !== -1) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(updates.includes(1), String(updates));
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test(
  'values of environment variables that another server received are read from the workers’ source; a value with no ' +
    'source is refused',
  async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-host-'));
    const kept: { values?: Record<string, string>; queried: string[] } = { queried: [] };
    const start = async (life: number) =>
      startServer({
        store: await openStore(path.join(folder, 'store')),
        secretsFolder: path.join(folder, `secrets-${life}`),
        ...PLAIN_SERVER,
        executor: () => ({
          updateBatch: () => undefined,
          removeBatch: () => undefined,
          close: () => Promise.resolve(),
          check: ({ name }) => {
            if (name === 'needy') return Promise.reject(new StudioError('config', 'a.agent.yaml:1:1: no python here'));
            return Promise.resolve([]);
          },
          secrets: (batch) => {
            kept.queried.push(batch);
            return Promise.resolve(kept.values);
          },
        }),
      });
    let server = await start(1);
    const api = new Api(fetchTransport(() => ({ url: `http://127.0.0.1:${server.port}`, token: server.token })));
    const plain = plainSubmission();
    const put = async (submission: typeof plain): Promise<string> => {
      const sha = submissionSha(submission);
      await api.putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
      return sha;
    };
    const endpoints = async (): Promise<string[]> => (await api.server()).endpoints.map(({ endpoint }) => endpoint);
    const until = async (endpoint: string): Promise<void> => {
      while (!(await endpoints()).includes(endpoint)) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    try {
      await assert.rejects(
        api.createBatch({
          batch: newId('b'),
          submission: await put({ ...plain, name: 'needy' }),
          open: false,
          tasks: tasks(1),
        }),
        { code: 'config', message: /^a\.agent\.yaml:1:1: no python here/ },
      );
      const named = {
        ...plain,
        agent: { ...plain.agent, model: { ...plain.agent.model, endpoints: ['${env:MODEL_URL}/v1'] } },
        env: { names: ['MODEL_URL'], shown: ['MODEL_URL'] },
      };
      const batch = newId('b');
      await api.createBatch({
        batch,
        submission: await put(named),
        open: false,
        tasks: tasks(1),
        secrets: { MODEL_URL: 'http://127.0.0.1:9' },
      });
      await until('http://127.0.0.1:9/v1');
      assert.deepEqual(kept.queried, []);
      await server.stop();
      server = await start(2);
      await until('${env:MODEL_URL}/v1'); // without a source it continues without them
      kept.values = { MODEL_URL: 'http://127.0.0.1:9' };
      await server.stop();
      server = await start(3);
      await until('http://127.0.0.1:9/v1');
      assert.ok(kept.queried.every((one) => one === batch));
      await api.commandBatch(batch, { command: newId('c'), verb: 'cancel' });
      while ((await api.batch(batch)).state !== 'ended' || existsSync(path.join(folder, 'secrets-3', `${batch}.json`)))
        await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test(
  'an external executor reports and gives up in the batch’s name; its workers get their programs by the hash ' +
    'alone',
  async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-host-'));
    let host: ClusterHost | undefined;
    const programs = { sha: 'a'.repeat(64), packed: Buffer.from('packed') };
    const server = await startServer({
      store: await openStore(folder),
      secretsFolder: path.join(folder, 'secrets'),
      ...PLAIN_SERVER,
      advertise: ['http://server.example:80'],
      programs,
      executor: (executorHost) => {
        host = executorHost;
        return {
          ...NO_NEEDS,
          updateBatch: () => undefined,
          removeBatch: () => undefined,
          close: () => Promise.resolve(),
        };
      },
    });
    try {
      assert.ok(host !== undefined);
      assert.equal(host.url, 'http://server.example:80');
      const url = `http://127.0.0.1:${server.port}`;
      const api = new Api(fetchTransport(() => ({ url, token: server.token })));
      const batch = newId('b');
      const submission = plainSubmission({ attempts: 2, retry: { infrastructure: 0 } });
      const sha = submissionSha(submission);
      await api.putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
      await api.createBatch({ batch, submission: sha, open: false, tasks: tasks(1) });
      const fetched = (name: string, token?: string): Promise<Response> =>
        fetch(
          `${url}/v1/programs/${name}`,
          token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
        );
      assert.equal(await (await fetched(programs.sha, host.token(batch))).text(), 'packed');
      assert.equal((await fetched('b'.repeat(64), host.token(batch))).status, 404);
      assert.equal((await fetched(programs.sha)).status, 401);

      assert.deepEqual(
        [await host.hasEnded(batch), await host.hasEnded('bnone'), await host.elect('kubernetes')],
        [false, true, true],
      );
      await host.recordInfra(batch, { what: 'pod_started', pod: 'p', ms: 3, text: 'Pod p started.' });
      // One of its two attempts runs: nobody is to blame for its end either.
      const worker = await FakeWorker.connect(url, host.token(batch));
      const [grant] = await worker.lease(1);
      await worker.appendAcked(grant!, openingEvents(grant!));
      await host.giveUp(batch, 'The cluster does not take its Job.');
      worker.close();
      const row = await api.batch(batch);
      assert.deepEqual([row.state, row.counts.infrastructure, await host.hasEnded(batch)], ['ended', 2, true]);
      const { events } = await api.events(batch);
      assert.deepEqual(
        events.flatMap((event) => (event.kind === 'infra' ? [`${event.data.what} ${event.data.text}`] : [])),
        ['pod_started Pod p started.', 'given_up The cluster does not take its Job.'],
      );
    } finally {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test('workers without a sandbox: the batch says so once, and one that requires a sandbox ends', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-host-'));
  const start = async (run: number) => {
    let host: ClusterHost | undefined;
    const server = await startServer({
      store: await openStore(folder),
      secretsFolder: path.join(folder, `secrets-${run}`),
      ...PLAIN_SERVER,
      executor: (executorHost) => {
        host = executorHost;
        const reports = new NoSandboxReports(executorHost);
        return {
          ...NO_NEEDS,
          noSandbox: (batch, submission, reason) => reports.report(batch, submission, reason),
          updateBatch: () => undefined,
          removeBatch: () => undefined,
          close: () => Promise.resolve(),
        };
      },
    });
    assert.ok(host !== undefined);
    return {
      server,
      host,
      url: host.url,
      api: new Api(fetchTransport(() => ({ url: host!.url, token: server.token }))),
    };
  };
  let running = await start(1);
  const create = async (mode: SandboxMode): Promise<string> => {
    const batch = newId('b');
    const plain = plainSubmission({ attempts: 1 });
    const submission = {
      ...plain,
      agent: { ...plain.agent, tools: [{ kind: 'builtin' as const, name: 'terminal' as const }] },
      sandbox: { ...DEFAULT_SANDBOX, mode },
    };
    const sha = submissionSha(submission);
    await running.api.putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
    await running.api.createBatch({ batch, submission: sha, open: false, tasks: tasks(1) });
    return batch;
  };
  const connect = (batch: string): Promise<FakeWorker> =>
    FakeWorker.connect(running.url, running.host.token(batch), { noSandbox: 'user namespaces are not allowed' });
  const infra = async (batch: string): Promise<string[]> =>
    (await running.api.events(batch)).events.flatMap((event) =>
      event.kind === 'infra' && event.data.what !== 'server_started' ? [`${event.data.what}: ${event.data.text}`] : [],
    );
  try {
    const [on, off, required] = [await create('on'), await create('off'), await create('required')];
    for (const worker of await Promise.all([connect(on), connect(on), connect(off)])) worker.close();
    await running.server.stop();
    running = await start(2);
    (await connect(on)).close();
    assert.deepEqual(await infra(on), [
      'no_sandbox: Rollouts in the same pod can reach each other, because their tools have no sandbox: user ' +
        'namespaces are not allowed. To separate them, use `pods: { isolation: pod }` in the batch file.',
    ]);
    assert.deepEqual(await infra(off), []);
    assert.equal((await running.api.batch(on)).state, 'running');

    (await connect(required)).close();
    assert.equal((await running.api.batch(required)).state, 'ended');
    assert.match(
      (await infra(required)).join(),
      /^given_up: The batch requires a sandbox, and its pods have none: user/,
    );
  } finally {
    await running.server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
