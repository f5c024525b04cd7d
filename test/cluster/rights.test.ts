/**
 * The account of the server in a cluster can do what the server needs in its own namespace, and nothing anywhere else.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type AuthenticationV1TokenRequest, CoreV1Api } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { z } from 'zod';
import { StudioError } from '../../src/common/errors.ts';
import { Cluster } from '../../src/kubernetes/access/cluster.ts';
import { KINDS, type Kind } from '../../src/kubernetes/access/kinds.ts';
import { modelOf } from '../../src/kubernetes/access/objects.ts';
import { NAMES } from '../../src/kubernetes/names.ts';
import { ClusterBench } from './support/clusterBench.ts';

const kubeconfig = z.looseObject({
  'current-context': z.string(),
  contexts: z.array(
    z.looseObject({ name: z.string(), context: z.looseObject({ cluster: z.string(), user: z.string() }) }),
  ),
  users: z.array(z.looseObject({ name: z.string(), user: z.record(z.string(), z.unknown()) })),
});
const VERBS = ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete', 'deletecollection'] as const;

describe('the permissions of the server in a cluster', { timeout: 3 * 60_000 }, () => {
  let bench: ClusterBench;
  let folder: string;
  const opened: Cluster[] = [];
  /** The cluster as the server's account sees it. */
  let server: Cluster;
  /** As a worker's account sees it. */
  let worker: Cluster;
  before(async () => {
    bench = await ClusterBench.installed('rights');
    folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-rights-'));
    server = await as(NAMES.server);
    worker = await as(NAMES.worker);
  });
  after(async () => {
    for (const cluster of opened) cluster.close();
    rmSync(folder, { recursive: true, force: true });
    await bench.close();
  });

  /** The cluster with a token of this account, and without credentials of the user who runs the tests. */
  async function as(account: string): Promise<Cluster> {
    const request = modelOf<AuthenticationV1TokenRequest>({ spec: { audiences: [], expirationSeconds: 600 } });
    const core = new CoreV1Api(bench.cluster.connection.configuration());
    const { status } = await core.createNamespacedServiceAccountToken({
      name: account,
      namespace: bench.namespace,
      body: request,
    });
    const token = status?.token;
    const config = kubeconfig.parse(parse(readFileSync(bench.site.kubeconfig, 'utf8')));
    const current = config.contexts.find(({ name }) => name === bench.site.cluster.context);
    assert.ok(current !== undefined);
    const file = path.join(folder, `${account}.yaml`);
    writeFileSync(
      file,
      JSON.stringify({
        ...config,
        users: [{ name: account, user: { token } }],
        contexts: [{ name: 'it', context: { cluster: current.context.cluster, user: account } }],
        'current-context': 'it',
      }),
      { mode: 0o600 },
    );
    const cluster = await Cluster.open({ kubeconfig: file, namespace: bench.namespace });
    opened.push(cluster);
    return cluster;
  }

  async function mayDo(cluster: Cluster, namespace: string): Promise<string[]> {
    const found: string[] = [];
    for (const kind of Object.keys(KINDS) as Kind[]) {
      for (const verb of VERBS)
        if (await cluster.isAllowed(verb, KINDS[kind].plural, { namespace }))
          found.push(`${verb} ${KINDS[kind].plural}`);
    }
    return found;
  }

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
        String.raw`persistentvolume\w*|resourcequotas|priorityclasses|storageclasses|poddisruptionbudgets)$`,
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
});
