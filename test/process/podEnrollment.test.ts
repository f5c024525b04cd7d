/** With `isolation: pod`, all that is in the reach of a pod is worth one rollout. The cluster is not real here. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson } from '../../src/common/json.ts';
import { submissionSha } from '../../src/config/submission.ts';
import type { ClusterHost } from '../../src/executor/executor.ts';
import { Api } from '../../src/protocol/api.ts';
import { fetchTransport } from '../../src/protocol/transport.ts';
import { startServer } from '../../src/server/server.ts';
import { openStore } from '../../src/store/open.ts';
import type { EventData } from '../../src/trace/schema.ts';
import { endingEvents, FakeWorker, openingEvents } from '../support/fakeWorker.ts';
import { PLAIN_SERVER } from '../support/plainServer.ts';
import { plainSubmission, tasks } from '../support/rolloutServer.ts';

describe('the credential of a pod that gets a single rollout', () => {
  let folder: string;
  let server: Awaited<ReturnType<typeof startServer>>;
  let host: ClusterHost;
  /** UIDs of the running pods, by batch and name; undefined while the cluster cannot be asked. */
  let pods: Map<string, string> | undefined;
  let workers: FakeWorker[];

  beforeEach(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-pods-'));
    pods = new Map();
    workers = [];
    await start();
  });
  afterEach(async () => {
    for (const worker of workers) worker.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(): Promise<void> {
    server = await startServer({
      store: await openStore(path.join(folder, 'store')),
      secretsFolder: path.join(folder, 'secrets'),
      ...PLAIN_SERVER,
      executor: (clusterHost) => {
        host = clusterHost;
        return {
          check: () => Promise.resolve([]),
          secrets: () => Promise.resolve(undefined),
          updateBatch: () => undefined,
          removeBatch: () => undefined,
          podUid: (batch, name) =>
            pods === undefined
              ? Promise.reject(new StudioError('forbidden', 'The cluster is being upgraded.'))
              : Promise.resolve(pods.get(`${batch} ${name}`)),
          close: () => Promise.resolve(),
        };
      },
    });
  }

  const api = (): Api => {
    const url = `http://127.0.0.1:${server.port}`;
    return new Api(fetchTransport(() => ({ url, token: server.token })));
  };

  async function submit(count: number): Promise<string> {
    const batch = newId('b');
    const submission = plainSubmission({ attempts: 1, pods: { isolation: 'pod' } });
    const sha = submissionSha(submission);
    await api().putBlob(sha, new TextEncoder().encode(canonicalJson(submission)));
    await api().createBatch({ batch, submission: sha, open: false, tasks: tasks(count) });
    return batch;
  }

  /** Starts a pod. Returns its UID, which nobody else knows. */
  function startPod(batch: string, name: string): string {
    const uid = crypto.randomUUID();
    pods?.set(`${batch} ${name}`, uid);
    return uid;
  }

  /** Connects with what the pods of the batch have: their token. */
  async function enroll(
    batch: string,
    options: Parameters<typeof FakeWorker.connect>[2],
    token = host.podToken(batch),
  ): Promise<FakeWorker> {
    const worker = await FakeWorker.connect(`http://127.0.0.1:${server.port}`, token, options);
    workers.push(worker);
    return worker;
  }

  async function tampering(batch: string): Promise<EventData['infra'][]> {
    return (await api().events(batch)).events.flatMap(({ kind, data }) =>
      kind === 'infra' && data.what === 'tampering' ? [data] : [],
    );
  }

  /** Ends the session of a worker. */
  async function leave(worker: FakeWorker): Promise<void> {
    worker.send({ type: 'bye' });
    await worker.frames.closed;
  }

  /** Requests rollouts, and checks that there is none and never will be. */
  async function assertDrained(worker: FakeWorker): Promise<void> {
    worker.send({ type: 'lease', want: 5 });
    await worker.frames.next('granted', ({ drained }) => drained);
    assert.deepEqual(worker.frames.left('grant'), []);
  }

  test('gives one rollout, however often it is presented, also after a restart of the server', async () => {
    const batch = await submit(3);
    const pod = startPod(batch, 'p1');
    const worker = await enroll(batch, { name: 'p1', pod });
    worker.send({ type: 'lease', want: 10 });
    const grant = await worker.frames.next('grant');
    await worker.appendAcked(grant, openingEvents(grant));
    const again = /1008 This pod already got its rollout/;
    const { token } = worker.welcome;
    // While it runs: as the same worker and as others, and with its session.
    for (const name of ['p1', 'p2', 'x']) await assert.rejects(enroll(batch, { name, pod }), again);
    await assertDrained(worker);
    // Its session is not disturbed.
    await worker.appendAcked(grant, endingEvents(3, { passed: true }));
    // After the end.
    await assertDrained(worker);
    await assert.rejects(enroll(batch, { name: 'p1', pod }), again);
    await leave(worker);
    await assert.rejects(enroll(batch, { name: 'p1', pod }), again);
    const resumed = await enroll(batch, { name: 'p1', pod, resume: token });
    await assertDrained(resumed);
    await leave(resumed);
    await server.stop();
    await start();
    await assert.rejects(enroll(batch, { name: 'p1', pod }), again);
    await assertDrained(await enroll(batch, { name: 'p1', pod, resume: token }));
    const { rollouts } = await api().rollouts(batch);
    assert.deepEqual(
      rollouts.map(({ worker: by, state }) => [by, state]),
      [
        ['p1', 'ended'],
        [undefined, 'queued'],
        [undefined, 'queued'],
      ],
    );
    const [first, restarted, ...more] = await tampering(batch);
    assert.match(first?.text ?? '', /^Tampering: worker p1 enrolled again as a pod that already got rollout /);
    assert.deepEqual([first?.rollout, restarted?.rollout, more], [grant.rollout, grant.rollout, []]);
  });

  test('is accepted only from a running pod of the batch that knows its UID', async () => {
    const [batch, other] = [await submit(2), await submit(2)];
    const pod = startPod(batch, 'p1');
    const elsewhere = startPod(other, 'p2');
    const none = /1008 There is no running pod/;
    await assert.rejects(enroll(batch, { name: 'p1' }), /1008 .* only with the UID/);
    await assert.rejects(enroll(batch, { name: 'p1', pod: crypto.randomUUID() }), none);
    await assert.rejects(enroll(batch, { name: 'p9', pod }), none);
    await assert.rejects(enroll(batch, { name: 'p2', pod: elsewhere }), none);
    await assert.rejects(enroll(batch, { name: 'p2', pod }, host.podToken(other)), none);
    const worker = await enroll(batch, { name: 'p1', pod });
    await assert.rejects(enroll(batch, { name: 'p1', pod }), /belongs to an open session/);
    // The token of a session of the other batch, or of another pod, continues nothing here.
    const theirs = await enroll(other, { name: 'p2', pod: elsewhere });
    for (const { welcome } of [theirs, worker])
      await assert.rejects(
        enroll(batch, { name: 'p9', pod, resume: welcome.token }),
        /is not that of its last session/,
      );
    pods?.delete(`${batch} p1`);
    await leave(worker);
    await assert.rejects(enroll(batch, { name: 'p1', pod }), none);
    assert.deepEqual(await tampering(batch), []);
  });

  test('of a replaced pod leads to its rollout only, which the new pod continues', async () => {
    const batch = await submit(2);
    const [lost, other] = [startPod(batch, 'p1'), startPod(batch, 'p2')];
    const [worker, neighbor] = [
      await enroll(batch, { name: 'p1', pod: lost }),
      await enroll(batch, { name: 'p2', pod: other }),
    ];
    const [[grant], [kept]] = [await worker.lease(1), await neighbor.lease(1)];
    await worker.appendAcked(grant!, openingEvents(grant!));
    await worker.appendAcked(grant!, endingEvents(3, { passed: true }).slice(0, 2));
    worker.close();
    pods?.delete(`${batch} p1`);
    assert.equal(await host.workerEnded(batch, 'p1', 'Pod p1 was evicted.', false), true);
    const next = await enroll(batch, { name: 'p3', pod: startPod(batch, 'p3') });
    const [continued] = await next.lease(1);
    assert.deepEqual([continued!.rollout, continued!.epoch, continued!.last], [grant!.rollout, 2, 4]);
    // Whoever has the credential of the lost pod gets nothing of the others.
    await assert.rejects(enroll(batch, { name: 'p1', pod: lost }), /already got its rollout/);
    const thief = await enroll(batch, {
      name: 'p1',
      pod: lost,
      resume: worker.welcome.token,
      rollouts: [grant!, kept!].map(({ rollout, epoch, last }) => ({ rollout, epoch, last })),
    });
    assert.deepEqual(thief.welcome.keep, []);
    await assertDrained(thief);
    assert.equal((await api().batch(batch)).counts.running, 2);
  });

  test('leads to the same rollout again if the worker did not receive it, also while the cluster is gone', async () => {
    const batch = await submit(2);
    const pod = startPod(batch, 'p1');
    const worker = await enroll(batch, { name: 'p1', pod });
    const [grant] = await worker.lease(1);
    worker.close();
    pods = undefined;
    const back = await enroll(batch, { name: 'p1', pod, resume: worker.welcome.token });
    const [again] = await back.lease(1);
    assert.deepEqual([again!.rollout, again!.epoch], [grant!.rollout, 2]);
    // A new pod waits for the cluster.
    const late = crypto.randomUUID();
    await assert.rejects(enroll(batch, { name: 'p2', pod: late }), /1011 Cannot look for pod p2 in the cluster/);
    pods = new Map([[`${batch} p2`, late]]);
    await (await enroll(batch, { name: 'p2', pod: late })).lease(1);
    assert.deepEqual(await tampering(batch), []);
  });

  test('is not that of workers that share a batch: they get as many rollouts as they request', async () => {
    const batch = await submit(4);
    const token = host.token(batch);
    const worker = await enroll(batch, { name: 'local-1', pod: 'of-no-use' }, token);
    const [one] = await worker.lease(2);
    await worker.finish(one!, { passed: true });
    await worker.lease(1);
    await leave(worker);
    const again = await enroll(batch, { name: 'local-1', pod: 'of-no-use' }, token);
    assert.equal((await again.lease(3)).length, 3);
    assert.deepEqual(await tampering(batch), []);
  });
});
