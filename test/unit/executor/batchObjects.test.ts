import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import type { Submission } from '../../../src/config/submission.ts';
import type { ClusterHost } from '../../../src/executor/executor.ts';
import { BatchObjects, type NewRound } from '../../../src/executor/kubernetes/batchObjects.ts';
import { Outage } from '../../../src/executor/kubernetes/outage.ts';
import type { Cluster } from '../../../src/kubernetes/access/cluster.ts';
import type { Job, KubeObject } from '../../../src/kubernetes/access/objects.ts';

const SIGNAL = new AbortController().signal;

/** A cluster that stores its objects. */
function fakeCluster() {
  const there = new Map<string, KubeObject>();
  const log: string[] = [];
  const put = (how: string, object: KubeObject): KubeObject => {
    const key = `${object.kind} ${object.metadata.name}`;
    const owner = object.metadata.ownerReferences?.map(({ kind, uid }) => ` of ${kind} ${uid}`).join('') ?? '';
    log.push(`${how} ${key}${owner}`);
    const kept: KubeObject = { ...object, metadata: { ...object.metadata, uid: `uid-${object.metadata.name}` } };
    there.set(key, kept);
    return kept;
  };
  const cluster = {
    namespace: 'n',
    get: (kind: string, name: string) => Promise.resolve(there.get(`${kind} ${name}`)),
    list: (kind: string) => Promise.resolve([...there.values()].filter((object) => object.kind === kind)),
    create: (object: KubeObject) =>
      there.has(`Job ${object.metadata.name}`)
        ? Promise.reject(new StudioError('conflict', 'It is there.'))
        : Promise.resolve(put('create', object)),
    apply: async (object: KubeObject, { accept }: { accept?: (existing: KubeObject) => void } = {}) => {
      const existing = there.get(`${object.kind} ${object.metadata.name}`);
      if (existing !== undefined) accept?.(existing);
      return await Promise.resolve({ object: put('apply', object), change: 'changed' });
    },
    remove: (kind: string, name: string) => {
      log.push(`remove ${kind} ${name}`);
      return Promise.resolve(there.delete(`${kind} ${name}`));
    },
  } as unknown as Cluster;
  const secret = (name: string, key: string): unknown =>
    JSON.parse(
      Buffer.from(
        (there.get(`Secret ${name}`)?.['data'] as Record<string, string>)[key] ?? 'null',
        'base64',
      ).toString(),
    );
  return { cluster, there, log, secret };
}

async function kit(context: TestContext, secrets?: Record<string, string>) {
  const fake = fakeCluster();
  const warnings: string[] = [];
  let file: string | undefined;
  if (secrets !== undefined) {
    const folder = await mkdtemp(path.join(tmpdir(), 'objects-'));
    context.after(() => rm(folder, { recursive: true, force: true }));
    file = path.join(folder, 'secrets.json');
    await writeFile(file, JSON.stringify(secrets));
  }
  const host = {
    url: 'http://203.0.113.1',
    token: (batch: string) => `w.${batch}`,
    podToken: (batch: string) => `p.${batch}`,
    secrets: () => Promise.resolve(file),
    log: (text: string) => warnings.push(text),
  } as unknown as ClusterHost;
  return {
    ...fake,
    warnings,
    objects: new BatchObjects({
      cluster: fake.cluster,
      host,
      programs: 'sha',
      image: 'i:1',
      pullPolicy: 'Never',
      reconnectSeconds: 600,
    }),
  };
}

const submission = (names: string[], isolation: 'shared' | 'pod' = 'shared'): Submission =>
  ({
    env: { names, shown: [] },
    pods: { isolation },
    agent: { model: { endpoints: ['http://203.0.113.7:8000/v1'] }, tools: [] },
    scorer: { kind: 'exact' },
  }) as unknown as Submission;
const plan = (of: Submission): NewRound => ({
  batch: 'b1',
  submission: of,
  round: 1,
  fruitless: 0,
  settled: 0,
  sizing: { completions: 2, parallelism: 2, slots: 4 },
});

describe('BatchObjects', () => {
  it('creates the objects that pods need before the Job, which then owns them', async (context) => {
    const { objects, there, log, secret } = await kit(context, { KEY: 'hidden' });
    await objects.create(plan(submission(['KEY'], 'pod')), SIGNAL);
    const job = log.indexOf('create Job rollout-b1-1');
    assert.deepEqual(log.slice(0, job).sort(), [
      'apply ConfigMap rollout-b1',
      'apply NetworkPolicy rollout-b1',
      'apply NetworkPolicy rollout-b1-server',
      'apply Secret rollout-b1',
    ]);
    assert.deepEqual(log.slice(job + 1).sort(), [
      'apply ConfigMap rollout-b1 of Job uid-rollout-b1-1',
      'apply NetworkPolicy rollout-b1 of Job uid-rollout-b1-1',
      'apply NetworkPolicy rollout-b1-server of Job uid-rollout-b1-1',
      'apply Secret rollout-b1 of Job uid-rollout-b1-1',
    ]);
    const rules = (name: string): unknown =>
      (there.get(`NetworkPolicy ${name}`)?.['spec'] as { egress: unknown }).egress;
    const rule = (cidr: string, port: number) => ({ to: [{ ipBlock: { cidr } }], ports: [{ protocol: 'TCP', port }] });
    assert.deepEqual(rules('rollout-b1'), [rule('203.0.113.1/32', 80), rule('203.0.113.7/32', 8000)]);
    assert.deepEqual(rules('rollout-b1-server'), [rule('203.0.113.7/32', 8000)]);
    log.length = 0;
    await objects.refreshNetwork('b1', submission(['KEY'], 'pod'), SIGNAL);
    assert.deepEqual(log, [], 'nothing changed');
    assert.deepEqual(secret('rollout-b1', 'worker.json'), {
      server: 'http://203.0.113.1',
      token: 'p.b1',
      batch: 'b1',
      slots: 4,
      reconnect_seconds: 600,
      programs: 'sha',
      rollouts: 1,
    });
    assert.deepEqual(secret('rollout-b1', 'secrets.json'), { KEY: 'hidden' });
    assert.deepEqual([...(await objects.batches(SIGNAL))], ['b1']);
  });

  it('keeps Jobs of older versions, which belong to the Deployment of the server', async (context) => {
    const { objects, cluster } = await kit(context);
    const patch = context.mock.fn(() => Promise.resolve());
    Object.assign(cluster, { patch });
    const job = (name: string, kind?: string): Job => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        name,
        ...(kind === undefined ? {} : { ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'u' }] }),
      },
    });
    await objects.disown([job('old', 'Deployment'), job('new'), job('of-others', 'CronJob')], SIGNAL);
    assert.deepEqual(
      patch.mock.calls.map((call) => (call.arguments as unknown[]).slice(0, 3)),
      [['Job', 'old', { metadata: { ownerReferences: null } }]],
    );
  });

  it('runs a batch without policies of its own if the server may not write any', async (context) => {
    const { objects, cluster, log, warnings } = await kit(context);
    const apply = cluster.apply.bind(cluster);
    context.mock.method(cluster, 'apply', (object: KubeObject, options: object) =>
      object.kind === 'NetworkPolicy'
        ? Promise.reject(new StudioError('forbidden', 'You may not patch networkpolicies.'))
        : apply(object, options),
    );
    await objects.create(plan(submission([])), SIGNAL);
    await objects.write('b2', submission([]), 1, undefined, SIGNAL);
    assert.ok(log.includes('create Job rollout-b1-1'));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /not what batches name: You may not patch networkpolicies\. Run rollout cluster/);
  });

  it('uses the Job of an earlier call', async (context) => {
    const { objects } = await kit(context);
    const first = await objects.create(plan(submission([])), SIGNAL);
    assert.equal((await objects.create(plan(submission([])), SIGNAL)).metadata.uid, first.metadata.uid);
  });

  it('continues with the secrets of another server, and never without', async (context) => {
    const mine = await kit(context, { KEY: 'hidden' });
    await mine.objects.handOver('b1', submission(['KEY']), SIGNAL);
    const other = await kit(context);
    await assert.rejects(
      other.objects.create(plan(submission(['KEY'])), SIGNAL),
      (error) => StudioError.is(error, 'unavailable') && error.message.includes('KEY'),
    );
    assert.deepEqual(other.log, []);
    const handed = mine.there.get('Secret rollout-b1');
    assert.ok(handed !== undefined);
    other.there.set('Secret rollout-b1', handed);
    await other.objects.create(plan(submission(['KEY'])), SIGNAL);
    assert.deepEqual(other.secret('rollout-b1', 'secrets.json'), { KEY: 'hidden' });
    const before = mine.log.length;
    await mine.objects.handOver('b1', submission(['KEY']), SIGNAL);
    assert.equal(mine.log.length, before, 'it is there already');
  });

  it('removes the secrets immediately', async (context) => {
    const { objects, log } = await kit(context);
    await objects.write('b1', submission([]), 4, undefined, SIGNAL);
    log.length = 0;
    await objects.removeSecrets('b1', false, SIGNAL);
    assert.deepEqual(log, ['remove Secret rollout-b1']);
    await objects.removeSecrets('b1', true, SIGNAL);
    assert.deepEqual(log.slice(1), [
      'remove ConfigMap rollout-b1',
      'remove NetworkPolicy rollout-b1',
      'remove NetworkPolicy rollout-b1-server',
    ]);
  });

  it('names what others deleted or emptied, and writes it again', async (context) => {
    const { objects, there } = await kit(context, { KEY: 'hidden' });
    await objects.write('b1', submission(['KEY']), 4, undefined, SIGNAL);
    assert.deepEqual(await objects.missing('b1', SIGNAL), []);
    there.delete('ConfigMap rollout-b1');
    there.delete('NetworkPolicy rollout-b1-server');
    const secret = there.get('Secret rollout-b1');
    assert.ok(secret !== undefined);
    there.set('Secret rollout-b1', { ...secret, data: {} });
    assert.deepEqual(await objects.missing('b1', SIGNAL), [
      'ConfigMap rollout-b1',
      'Secret rollout-b1',
      'NetworkPolicy rollout-b1-server',
    ]);
    await objects.write('b1', submission(['KEY']), 4, undefined, SIGNAL);
    assert.deepEqual(await objects.missing('b1', SIGNAL), []);
  });

  it('leaves objects of other programs as they are', async (context) => {
    const { objects, there, log, warnings } = await kit(context);
    const foreign = (kind: string, name: string): void => {
      there.set(`${kind} ${name}`, { apiVersion: 'v1', kind, metadata: { name, labels: { app: 'theirs' } } });
    };
    foreign('Job', 'rollout-b1-1');
    const job = await objects.create(plan(submission([])), SIGNAL);
    assert.equal(job.metadata.name, 'rollout-b1-2');
    assert.match(warnings[0] ?? '', /Job rollout-b1-1 belongs to another program\. The batch uses rollout-b1-2\./);
    foreign('Secret', 'rollout-b1');
    const isForeign = (error: unknown): boolean =>
      StudioError.is(error, 'conflict') &&
      error.hint === 'If nobody needs it, remove it with kubectl delete secret rollout-b1 -n n';
    await assert.rejects(objects.missing('b1', SIGNAL), isForeign);
    await assert.rejects(objects.create({ ...plan(submission([])), round: 3 }, SIGNAL), isForeign);
    await objects.removeSecrets('b1', false, SIGNAL);
    assert.deepEqual(
      log.filter((line) => line.startsWith('remove')),
      [],
    );
  });

  it('says how to send values again that nobody has anymore', async (context) => {
    const { objects } = await kit(context);
    await assert.rejects(
      objects.write('b1', submission(['KEY', 'OTHER']), 4, undefined, SIGNAL),
      (error) =>
        StudioError.is(error, 'unavailable') &&
        /KEY, OTHER/.test(error.message) &&
        /with rollout resume b1\.$/.test(error.hint ?? ''),
    );
  });
});

describe('Outage', () => {
  it('is reported when it lasts, and at its end', (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const reports: string[] = [];
    const outage = new Outage(1000, (error) => reports.push(error?.message ?? 'over'));
    const error = new StudioError('unavailable', 'away');
    outage.set(error);
    context.mock.timers.tick(900);
    outage.set(undefined);
    context.mock.timers.tick(5000);
    assert.deepEqual(reports, []);
    outage.set(error);
    context.mock.timers.tick(900);
    outage.set(new StudioError('unavailable', 'away still'));
    context.mock.timers.tick(100);
    outage.set(error);
    outage.set(undefined);
    outage.set(undefined);
    assert.deepEqual(reports, ['away', 'over']);
  });
});
