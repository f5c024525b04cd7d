/** The pods of a batch, and their logs: with an executor of the test, and with the worker processes of this machine. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { BatchPodReader } from '../../src/client/batchPods.ts';
import { nodeTransport } from '../../src/client/nodeTransport.ts';
import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson } from '../../src/common/json.ts';
import { submissionSha } from '../../src/config/submission.ts';
import type { ClusterHost, ExecutorHost } from '../../src/executor/executor.ts';
import { LocalExecutor } from '../../src/executor/local/localExecutor.ts';
import { WorkFolders } from '../../src/executor/local/workFolders.ts';
import { Api } from '../../src/protocol/api.ts';
import type { ExecutorPod } from '../../src/protocol/pods.ts';
import { startServer } from '../../src/server/server.ts';
import { openStore } from '../../src/store/open.ts';
import type { BatchRecord } from '../../src/store/store.ts';
import { FakeWorker } from '../support/fakeWorker.ts';
import { PLAIN_SERVER } from '../support/plainServer.ts';
import { plainSubmission, tasks } from '../support/rolloutServer.ts';

const SECRET = 'sk-very-secret-value';
const POD: ExecutorPod = {
  name: 'pod-1',
  kind: 'pod',
  state: 'running',
  node: 'node-a',
  ready: true,
  restarts: 0,
  log: true,
  containers: [],
  events: [{ at: 1, warning: true, reason: 'Unhealthy', text: `GET /?key=${SECRET} failed`, count: 2 }],
};

test('a server lists pods with their rollouts, and streams logs without the values of the batch', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-pods-'));
  let host: ClusterHost | undefined;
  let values: Record<string, string> | undefined = { KEY: SECRET };
  const pods = [POD];
  const more = Promise.withResolvers<string>();
  const server = await startServer({
    store: await openStore(folder),
    secretsFolder: path.join(folder, 'secrets'),
    ...PLAIN_SERVER,
    executor: (clusterHost) => {
      host = clusterHost;
      return {
        check: () => Promise.resolve([]),
        secrets: () => Promise.resolve(values),
        updateBatch: () => undefined,
        removeBatch: () => undefined,
        close: () => Promise.resolve(),
        pods: () => Promise.resolve(pods),
        podLog: async function* (_batch, pod, { container = 'worker', follow }) {
          if (pod !== 'pod-1') throw new StudioError('not_found', `no pod ${pod}`);
          // A secret may be cut anywhere.
          yield `${container} begins with ${SECRET.slice(0, 7)}`;
          yield `${SECRET.slice(7)}\n`;
          if (follow === true) yield `${await more.promise}\n`;
        },
      };
    },
  });
  try {
    const url = `http://127.0.0.1:${server.port}`;
    const api = new Api(nodeTransport(() => ({ url, token: server.token })));
    const submission = plainSubmission({ env: { names: ['KEY'], shown: [] } });
    const sha = submissionSha(submission);
    await api.putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
    const batch = newId('b');
    await api.createBatch({ batch, submission: sha, open: false, tasks: tasks(1), secrets: { KEY: SECRET } });
    const worker = await FakeWorker.connect(url, host!.token(batch), { name: 'pod-1' });
    const [grant] = await worker.lease(1);

    const { pods: listed } = await api.pods(batch);
    assert.deepEqual(
      listed.map(({ name, node, rollouts }) => [name, node, rollouts.map((each) => each.rollout)]),
      [['pod-1', 'node-a', [grant!.rollout]]],
    );
    assert.equal(listed[0]!.events[0]!.text, 'GET /?key=[redacted] failed');

    const whole = await Array.fromAsync(api.podLog(batch, 'pod-1', { container: 'tools' }));
    assert.equal(whole.join(''), 'tools begins with [redacted]\n');

    // Followed: the first lines arrive before the log ends.
    const followed = api.podLog(batch, 'pod-1', { follow: true });
    let text = '';
    for await (const piece of followed) {
      text += piece;
      if (text.includes('redacted') && !text.includes('later')) more.resolve('later');
    }
    assert.equal(text, 'worker begins with [redacted]\nlater\n');
    await assert.rejects(Array.fromAsync(api.podLog(batch, 'other', {})), {
      code: 'not_found',
      message: 'no pod other',
    });
    await assert.rejects(api.pods('b-none'), { code: 'not_found' });

    // What is gone keeps what the batch recorded.
    const reader = new BatchPodReader(() => Promise.resolve(api), batch);
    await host!.recordInfra(batch, { what: 'pod_oom', pod: 'pod-0', node: 'node-b', text: 'Pod pod-0 was killed.' });
    assert.deepEqual(
      (await reader.read()).gone.map(({ name, node, records }) => [name, node, records.map((each) => each.text)]),
      [['pod-0', 'node-b', ['Pod pod-0 was killed.']]],
    );

    // Without the values nothing can be hidden.
    worker.close();
    await api.commandBatch(batch, { command: newId('c'), verb: 'cancel', by: 'test' });
    while ((await api.batch(batch)).state !== 'ended') await new Promise((resolve) => setTimeout(resolve, 20));
    values = undefined;
    for (;;) {
      const error: unknown = await Array.fromAsync(api.podLog(batch, 'pod-1', {})).catch((failed: unknown) => failed);
      if (StudioError.is(error, 'gone')) break; // the server forgets the values a moment after the end
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Writes lines as workers do, and some of another worker. */
const WORKER = `
let text = '';
for await (const chunk of process.stdin) text += chunk;
const { worker } = JSON.parse(text);
const say = (who, what) => process.stderr.write(new Date().toISOString() + ' ' + who + ': ' + what + '\\n');
say('local-1', 'of another batch');
say(worker, 'began');
say(worker, 'works');
process.on('SIGTERM', () => { say(worker, 'ends'); process.exit(0); });
setInterval(() => undefined, 1000);
`;

test('worker processes are listed, and their lines in the common log are followed until they end', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-pods-'));
  writeFileSync(path.join(folder, 'worker.mjs'), WORKER);
  const host: ExecutorHost = {
    url: 'http://127.0.0.1:1',
    token: () => 'w',
    secrets: () => Promise.resolve(undefined),
    workers: () => Promise.resolve([]),
    workerEnded: () => Promise.resolve(false),
    drain: () => false,
    refresh: () => undefined,
    log: () => undefined,
  };
  const executor = new LocalExecutor({
    host,
    command: { file: process.execPath, args: [path.join(folder, 'worker.mjs')] },
    work: new WorkFolders({ record: path.join(folder, 'work.json'), bases: [path.join(folder, 'base')] }),
    logFile: path.join(folder, 'log', 'worker.log'),
    discovery: undefined,
    noSandbox: () => Promise.resolve(undefined),
    cores: 1,
  });
  const { signal } = new AbortController();
  const linesOf = (text: string): string[] => [...text.matchAll(/local-\d+: (.*)/g)].map(([, line]) => line ?? '');
  try {
    const row = { batch: 'b1', counts: { queued: 1, running: 0 } };
    executor.updateBatch({ row, paused: false, sealed: true } as unknown as BatchRecord, plainSubmission());
    let name: string | undefined;
    while (name === undefined) {
      [name] = (await executor.pods('b1')).map((pod) => pod.name);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.deepEqual(await executor.pods('other'), []);
    let [text, isOver] = ['', false];
    for await (const piece of executor.podLog('b1', name, { follow: true }, signal)) {
      text += piece;
      if (isOver || !linesOf(text).includes('works')) continue;
      isOver = true;
      executor.removeBatch('b1');
      process.kill(Number(name.slice('local-'.length)), 'SIGTERM');
    }
    assert.deepEqual(linesOf(text), ['began', 'works', 'ends']);
    const tail = await Array.fromAsync(executor.podLog('b1', name, { tail: 1 }, signal));
    assert.deepEqual(linesOf(tail.join('')), ['ends'], 'also after the batch has ended');
    await assert.rejects(Array.fromAsync(executor.podLog('b2', name, {}, signal)), { code: 'not_found' });
  } finally {
    await executor.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
