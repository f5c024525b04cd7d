/**
 * The account of the server in a cluster can do what the server needs in its own namespace, and nothing anywhere else.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connectTarget, type TargetConnection } from '../../src/client/targets/connectTarget.ts';
import { StudioError } from '../../src/common/errors.ts';
import { batchJob } from '../../src/executor/kubernetes/jobManifest.ts';
import type { Cluster } from '../../src/kubernetes/access/cluster.ts';
import type { KubeObject } from '../../src/kubernetes/access/objects.ts';
import { install } from '../../src/kubernetes/install/install.ts';
import { resolveOptions } from '../../src/kubernetes/install/options.ts';
import { batchLabels, NAMES } from '../../src/kubernetes/names.ts';
import { accessTable, EXPECTED_ACCESS, openUsers, serverPod } from './support/accessTable.ts';
import { Accounts, mayDo } from './support/accounts.ts';
import { ClusterBench, until } from './support/clusterBench.ts';

/** A pod template whose fields a hostile server may set as it likes. */
interface PodTemplate {
  volumes: Record<string, unknown>[];
  containers: [Record<string, unknown>];
  initContainers: [Record<string, unknown>];
  [field: string]: unknown;
}
const PLAN = {
  batch: 'b7',
  round: 1,
  pods: { sidecars: [{ name: 'side', image: 'side:1', env: [{ name: 'KEY', value: '${env:KEY}' }] }] },
  sizing: { completions: 1, parallelism: 1, slots: 1 },
  pullPolicy: undefined,
  settled: 0,
  fruitless: 0,
};
const ENV = { env: {} };
const denied = (error: unknown): boolean =>
  StudioError.is(error) && /ValidatingAdmissionPolicy '.*' .*denied request/.test(error.message);

describe('the permissions of the server in a cluster', { timeout: 10 * 60_000 }, () => {
  let bench: ClusterBench;
  let accounts: Accounts;
  /** The cluster as the server's account sees it. */
  let server: Cluster;
  /** As a worker's account sees it. */
  let worker: Cluster;
  before(async () => {
    bench = await ClusterBench.installed('rights');
    accounts = new Accounts(bench);
    server = await accounts.open(NAMES.server);
    worker = await accounts.open(NAMES.worker);
  });
  after(async () => {
    accounts.close();
    await bench.close();
  });

  const refused = (error: unknown): boolean => StudioError.is(error, 'forbidden');

  it('are what it needs in its namespace, and no more', async () => {
    const may = await mayDo(server, bench.namespace);
    for (const needed of [
      'create jobs',
      'watch jobs',
      'delete jobs',
      'watch pods',
      'delete pods',
      'create secrets',
      'delete secrets',
      'create configmaps',
      'watch events',
      'list endpointslices',
    ])
      assert.ok(may.includes(needed), needed);
    const beyond = new RegExp(
      String.raw`(roles|rolebindings|serviceaccounts|namespaces|nodes|` +
        String.raw`persistentvolume\w*|resourcequotas|priorityclasses|storageclasses|poddisruptionbudgets|` +
        String.raw`validatingadmission\w*)$`,
    );
    assert.deepEqual(
      may.filter((right) => beyond.test(right)),
      [],
    );
    assert.deepEqual(
      may.filter((right) => /^(create|patch|update|delete\w*) (deployments|replicasets|services)$/.test(right)),
      [],
      'it cannot change its own installation',
    );
    assert.ok(!may.includes('create pods'), 'only by Jobs');
    assert.ok(!may.includes('list secrets') && !may.includes('watch secrets'), 'a list has the values of all');
  });

  it('are objects of batches, whose pods use no Secret but their own', async () => {
    const { namespace } = bench;
    const job = (change: (pod: PodTemplate) => unknown, name?: string): KubeObject => {
      const object = batchJob({ ...PLAN, namespace, image: bench.site.image });
      const spec = object['spec'] as { template: { spec: PodTemplate } };
      change(spec.template.spec);
      return name === undefined ? object : { ...object, metadata: { ...object.metadata, name } };
    };
    const create = (object: KubeObject): Promise<KubeObject> => server.create(object, { dryRun: true });
    // A new policy takes effect a moment after it was accepted.
    await until('the policies take effect', () =>
      create(job((pod) => (pod.hostNetwork = true))).then(
        () => false,
        () => true,
      ),
    );
    await create(job(() => undefined));
    const foreign = { secretKeyRef: { name: NAMES.tokens, key: 'full' } };
    const hostile: [string, (pod: PodTemplate) => unknown][] = [
      ['the tokens', (pod) => pod.volumes.push({ name: 'x', secret: { secretName: NAMES.tokens } })],
      ['another batch', (pod) => pod.volumes.push({ name: 'x', secret: { secretName: 'rollout-b2' } })],
      ['a projection', (pod) => pod.volumes.push({ name: 'x', projected: { sources: [{ secret: { name: 'db' } }] } })],
      ['the node', (pod) => pod.volumes.push({ name: 'x', hostPath: { path: '/' } })],
      ['a variable', (pod) => (pod.containers[0].env = [{ name: 'X', valueFrom: foreign }])],
      ['a sidecar', (pod) => (pod.initContainers[0].env = [{ name: 'X', valueFrom: foreign }])],
      ['all variables', (pod) => (pod.containers[0].envFrom = [{ secretRef: { name: 'db' } }])],
      ['a pull secret', (pod) => (pod.imagePullSecrets = [{ name: 'db' }])],
      ['a token', (pod) => (pod.automountServiceAccountToken = true)],
      ['the account of the server', (pod) => (pod.serviceAccountName = NAMES.server)],
      ['the processes of the node', (pod) => (pod.hostPID = true)],
      ['privileges', (pod) => (pod.initContainers[0].securityContext = { privileged: true })],
    ];
    for (const [name, change] of hostile) await assert.rejects(create(job(change)), denied, name);
    await assert.rejects(create(job(() => undefined, 'foreign')), denied, 'a Job of nobody');
    const secret = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque' };
    await server.create({ ...secret, metadata: { name: 'rollout-b7', namespace } }, { dryRun: true });
    await assert.rejects(server.create({ ...secret, metadata: { name: 'foreign', namespace } }), denied);
    await assert.rejects(server.patch('Secret', NAMES.tokens, { data: { full: '' } }), denied);
    await assert.rejects(server.remove('Secret', NAMES.tokens), denied);
    await assert.rejects(server.remove('NetworkPolicy', NAMES.allPods), denied);
    const policy = (egress: unknown, more: object = {}): KubeObject => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'rollout-b7', namespace },
      spec: { podSelector: { matchLabels: batchLabels('b7') }, policyTypes: ['Egress'], egress, ...more },
    });
    const to = (cidr: string) => [{ to: [{ ipBlock: { cidr } }] }];
    await create(policy(to('203.0.113.7/32')));
    await create(policy([]));
    for (const hostilePolicy of [
      policy(to('0.0.0.0/0')),
      policy(to('169.254.169.254/32')),
      policy([{}]),
      policy([], { podSelector: {} }),
      policy([], { policyTypes: ['Ingress', 'Egress'], ingress: [{}] }),
    ])
      await assert.rejects(create(hostilePolicy), denied, JSON.stringify(hostilePolicy['spec']));
    const [pod] = await bench.cluster.list('Pod');
    await assert.rejects(server.remove('Pod', pod?.metadata.name ?? ''), denied);
    const { stdout } = await bench.rollout('target', 'status');
    assert.match(stdout, /✓ policy +admission policies limit the server to objects of batches/);
  });

  it('end at its namespace', async () => {
    for (const namespace of ['default', 'kube-system']) assert.deepEqual(await mayDo(server, namespace), [], namespace);
    await assert.rejects(server.list('Secret', { namespace: 'kube-system' }), refused);
    await assert.rejects(server.list('Node'), refused);
    await assert.rejects(server.list('Pod', { namespace: 'all' }), refused);
    await assert.rejects(
      server.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'not-here', namespace: 'default' } }),
      refused,
    );
    await assert.rejects(
      server.create({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'more' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [],
      }),
      refused,
    );
  });

  it('of a worker are empty', async () => {
    assert.deepEqual(await mayDo(worker, bench.namespace), []);
    await assert.rejects(worker.list('Pod'), refused);
  });

  it('of users are those of their Roles, and none reads a Secret', async (t) => {
    const { cluster, namespace } = bench;
    const users = await openUsers(bench, accounts);
    const opened: Record<string, TargetConnection> = {};
    t.after(() => {
      for (const connection of Object.values(opened)) connection.close();
    });
    for (const name of ['ann', 'bob', 'admin']) opened[name] = await connectTarget(name, accounts.target(name), ENV);
    await assert.rejects(connectTarget('guest', accounts.target('guest'), ENV), (error) => {
      const hint = `--namespace ${namespace} --bind serviceaccount=${namespace}/guest:user | kubectl apply -f -`;
      return StudioError.is(error, 'forbidden') && error.hint?.endsWith(hint) === true;
    });
    const { text, marks } = await accessTable(users, opened);
    t.diagnostic(`\n${text}`);
    assert.deepEqual(marks, EXPECTED_ACCESS);

    // The same accounts at the server's URL, without a way to the API server or to its pods.
    const url = bench.site.arguments.find((argument) => argument.startsWith('https://'));
    if (url !== undefined) {
      const { data } = (await cluster.get('ConfigMap', NAMES.authority)) ?? {};
      const ca = path.join(path.dirname(accounts.target('admin').kubeconfig ?? ''), 'server-authority.pem');
      writeFileSync(ca, data?.['ca.crt'] ?? '');
      const as = (name: string): Promise<TargetConnection> => {
        const { context, kubeconfig } = accounts.target(name);
        return connectTarget(name, { url, ca, context, ...(kubeconfig === undefined ? {} : { kubeconfig }) }, ENV);
      };
      const atUrl = await as('admin');
      t.after(() => atUrl.close());
      const { you } = await atUrl.api.server();
      assert.equal(you?.user, `system:serviceaccount:${namespace}:admin`);
      assert.deepEqual(you.rights, ['read', 'launch', 'control', 'administer']);
      await assert.rejects(as('guest'), (error) => StudioError.is(error, 'forbidden'));
      await assert.rejects(
        as('ann'),
        (error) => StudioError.is(error, 'unsupported') && /only a client certificate/.test(error.message),
      );
    }

    // A Role that is taken away ends the rights of a user within about a minute.
    const binding = (await cluster.list('RoleBinding')).find(({ subjects }) => subjects?.[0]?.name === 'ann');
    await cluster.remove('RoleBinding', binding?.metadata.name ?? '');
    const started = performance.now();
    await until('ann may not read any more', async () => {
      const answer = await opened['ann']?.api.batches().catch((error: unknown) => error);
      return StudioError.is(answer, 'forbidden') && /the right “read” is missing/.test(answer.message);
    });
    t.diagnostic(`a removed RoleBinding took effect after ${Math.round((performance.now() - started) / 1000)} s`);
    const log = await cluster.log((await serverPod(bench)) ?? '');
    assert.match(log ?? '', /ann logged in/);
    assert.doesNotMatch(log ?? '', /eyJ[A-Za-z0-9_-]{20}/, 'the log has no token of an account');
  });

  it('are limited by the server alone where its user may not create admission policies', async () => {
    const ran = await bench.rollout('cluster', 'uninstall');
    assert.equal(ran.code, 0, ran.stderr);
    const kinds = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'] as const;
    const left = async (): Promise<string[]> =>
      (await Promise.all(kinds.map((kind) => bench.cluster.list(kind))))
        .flat()
        .map(({ metadata }) => metadata.name)
        .filter((name) => name.endsWith(`.${bench.namespace}`));
    assert.deepEqual(await left(), [], 'they go with the installation');
    const notes: string[] = [];
    const limited = bench.site.cluster.inNamespace(bench.namespace);
    const apply = limited.apply.bind(limited);
    limited.apply = (object, options) =>
      object.kind.startsWith('Validating')
        ? Promise.reject(new StudioError('forbidden', 'You may not.'))
        : apply(object, options);
    await install(
      limited,
      {
        options: resolveOptions({ image: bench.site.image, storage: 'emptyDir', podSecurity: 'privileged' }),
        createNamespace: true,
        dryRun: false,
        timeoutMs: 0,
        signal: AbortSignal.timeout(60_000),
      },
      { change: () => undefined, note: (text) => notes.push(text) },
    );
    assert.match(notes.join('\n'), /^Your account may not create admission policies, so only the server itself /m);
    assert.ok(await bench.cluster.get('Deployment', NAMES.server));
    const { stdout } = await bench.rollout('target', 'status');
    assert.match(stdout, /– policy +admission policies are missing: rollout-studio-objects\./);
  });
});
