/** An installation by other tools: kubectl applies what `render` writes, and prunes it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import type { KubeObject } from '../../src/kubernetes/access/objects.ts';
import { accessRoles, parseBinding, roleBinding } from '../../src/kubernetes/identity/roles.ts';
import { resolveOptions } from '../../src/kubernetes/install/options.ts';
import { documents, renderManifests } from '../../src/kubernetes/install/render/render.ts';
import { batchLabels, NAMES, selector } from '../../src/kubernetes/names.ts';
import { newAuthoritySecret } from '../../src/kubernetes/tls/authority.ts';
import { newAuthority, validFor } from '../../src/kubernetes/tls/certificate.ts';
import { INSTALLATIONS } from '../support/installations.ts';
import { steady } from './support/batches.ts';
import { ClusterBench, until } from './support/clusterBench.ts';

const TOKENS = 'tokens-of-others';
/** Secret and ConfigMap of others with what is outside the cluster. */
const PROXY = 'proxy-of-others';
/** Where pods run, as far as all clusters have it. */
const PODS = `
server:
  node_selector: { kubernetes.io/os: linux }
  tolerations: [{ key: example.org/system, operator: Exists, effect: NoSchedule }]
  labels: { example.org/team: research }
  annotations: { example.org/owner: research }
  image_pull_secrets: [mirror]
  requests: { cpu: 100m }
workers:
  node_selector: { kubernetes.io/os: linux }
  tolerations: [{ key: example.org/spot, operator: Exists, effect: NoSchedule }]
  labels: { example.org/team: research }
  image_pull_secrets: [mirror]
  limits: { memory: 2Gi }
  grace_seconds: 40
vllm:
  tolerations: [{ key: example.org/gpus, operator: Exists }]
  spread: required
  requests: { memory: 64Gi }
`;
/** A server starts in some seconds, unless the machine is busy. */
const START_MS = 300_000;

describe('an installation by kubectl', { timeout: 10 * 60_000 }, () => {
  let bench: ClusterBench;
  before(async () => {
    bench = await ClusterBench.open('gitops');
    // kubectl prints what the level `restricted` would refuse.
    const labels = { 'pod-security.kubernetes.io/warn': 'restricted' };
    await bench.cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: bench.namespace, labels } });
  });
  after(() => bench.close());

  function kubectl(...args: string[]): string {
    return kubectlWith(args).stdout;
  }

  function kubectlWith(args: readonly string[], input?: string): { readonly stdout: string; readonly stderr: string } {
    const { kit, kubeconfig } = bench.site;
    const done = spawnSync(kit?.kubectl ?? 'kubectl', ['--kubeconfig', kubeconfig, ...args], {
      encoding: 'utf8',
      maxBuffer: 1 << 26,
      ...(input === undefined ? {} : { input }),
    });
    assert.equal(done.status, 0, `kubectl ${args.join(' ')}: ${done.stderr}`);
    return done;
  }

  async function rollout(...args: string[]): Promise<string> {
    const ran = await bench.rollout(...args);
    assert.equal(ran.code, 0, ran.stderr);
    return ran.stdout;
  }

  const plain = (): string => bench.workspace.path('rollouts.yaml');
  const base = (): string => bench.workspace.path('base');
  const ready = () =>
    until(
      'the server is ready',
      async () => {
        const deployment = await bench.cluster.get('Deployment', NAMES.server);
        return (deployment?.status?.availableReplicas ?? 0) > 0;
      },
      START_MS,
    );

  it('is accepted by the API server in every form, and by the level restricted but for folders of nodes', () => {
    const kinds = new Set(KINDS_OF_OTHERS.map(({ spec }) => spec.names.kind));
    const existing = kubectl('get', 'crds', '-o', 'name');
    const missing = KINDS_OF_OTHERS.filter(({ metadata }) => !existing.includes(metadata.name));
    const crds = missing.map((crd) => stringify(crd)).join('---\n');
    try {
      if (missing.length > 0) {
        kubectlWith(['apply', '-f', '-'], crds);
        kubectlWith(['wait', '--for=condition=Established', '--timeout=60s', '-f', '-'], crds);
      }
      const archive = { sha: 'a'.repeat(64), packed: randomBytes(1000) };
      const rendered = Object.values(INSTALLATIONS).flatMap((input) =>
        objectsIn(renderManifests({ options: resolveOptions(input), archive, namespace: bench.namespace })),
      );
      const bindings = ['user=alice:user', 'group=research:viewer', 'serviceaccount=ci/runner:admin'].map((text) =>
        roleBinding(parseBinding(text, bench.namespace), bench.namespace),
      );
      const objects = new Map(
        [...rendered, ...accessRoles(bench.namespace), ...bindings].map((object) => [JSON.stringify(object), object]),
      );
      for (const kind of kinds)
        assert.ok(
          [...objects.values()].some((object) => object.kind === kind),
          kind,
        );
      const ran = kubectlWith(
        ['apply', '--server-side', '--validate=strict', '--dry-run=server', '-f', '-'],
        documents([...objects.values()]),
      );
      assert.equal(ran.stdout.trim().split('\n').length, objects.size);
      const warnings = ran.stderr.split('\n').filter((line) => line.startsWith('Warning: '));
      assert.deepEqual(
        warnings.filter((line) => !/restricted volume type "hostPath"/.test(line)),
        [],
      );
      assert.ok(warnings.length > 0, 'the namespace warns');
    } finally {
      if (missing.length > 0) kubectlWith(['delete', '--ignore-not-found', '-f', '-'], crds);
    }
  });

  it('has the objects of install, however they are rendered', async () => {
    bench.workspace.write('pods.yaml', PODS);
    const options = [
      ...[...bench.site.arguments, '--tokens-secret', TOKENS, '--pods', bench.workspace.path('pods.yaml')],
      // No node has its GPUs, so its pods stay pending.
      ...['--vllm', 'org/model', '--vllm-lora', 'sql=/cache/sql', '--vllm-api-key-secret', 'key'],
      ...['--vllm-cache', 'claim:weights'],
      ...['--ingress', 'rollouts.example.org', '--ingress-class', 'none', '--ingress-annotation', 'a.example/b=c'],
      ...['--identity-headers', 'user=X-Forwarded-User', '--identity-from', `shared-secret:${PROXY}`],
      // Nothing there answers: whatever the cluster has is reached without it.
      ...['--proxy', 'http://127.0.0.1:9', '--ca-bundle', `configmap:${PROXY}/ca.pem`],
    ];
    writeFileSync(plain(), await rollout('cluster', 'render', ...options));
    await rollout('cluster', 'render', '--as', 'kustomize', '--out', base(), ...options);
    assert.deepEqual(byName(kubectl('kustomize', base())), byName(readFileSync(plain(), 'utf8')));
  });

  it('waits for no Secret that others have not made', async () => {
    const ran = await bench.rollout('cluster', 'install', ...bench.site.arguments, '--tokens-secret', TOKENS);
    assert.equal(ran.code, 2, ran.stderr);
    assert.match(ran.stderr, /The Secret tokens-of-others with the client tokens does not exist .*keys full and read/);
  });

  it('is applied once; each further apply changes nothing', async () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: TOKENS } };
    await bench.cluster.create({ ...secret, stringData: { full: 'f'.repeat(64), read: 'r'.repeat(64) } });
    const authority = newAuthoritySecret(bench.namespace);
    await bench.cluster.create(authority);
    await bench.cluster.create({
      ...secret,
      metadata: { name: PROXY },
      stringData: { 'proxy-secret': 'p'.repeat(40) },
    });
    await bench.cluster.create({
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: PROXY } },
      data: { 'ca.pem': newAuthority('corporate', validFor(1)).cert },
    });
    kubectl('apply', '-f', plain());
    const budget = async () => (await bench.cluster.get('PodDisruptionBudget', NAMES.vllm))?.metadata.generation;
    const before = await budget();
    const again = `${kubectl('apply', '-f', plain())}${kubectl('apply', '-k', base())}`.trim().split('\n');
    assert.deepEqual(
      // kubectl always sends the selector of a budget, and so never calls one unchanged.
      again.filter((line) => !line.endsWith(' unchanged') && !line.startsWith('poddisruptionbudget.policy/')),
      [],
    );
    assert.deepEqual([before, await budget()], [1, 1]);
    kubectl('apply', '--server-side', '-f', plain());
    const install = JSON.parse(await rollout('cluster', 'install', '--dry-run', '--json')) as {
      changes: { kind: string; name: string; change: string }[];
    };
    assert.deepEqual(
      install.changes.filter(({ change }) => change !== 'same'),
      [],
      'install finds the options, and would apply the same',
    );
    await ready();
  });

  it('keeps running Jobs when its Deployment is pruned, and adopts them when it is applied again', async () => {
    const batch = await bench.workspace.launch('pruned', steady(bench.site, { tasks: 6, steps: 8 }));
    const jobs = async (): Promise<(string | undefined)[]> =>
      (await bench.cluster.list('Job', { labels: selector(batchLabels(batch)) })).map(({ metadata }) => metadata.uid);
    await bench.workspace.waitForRows(batch, (rows) => rows.some(({ state }) => state === 'running'));
    const before = await jobs();
    assert.equal(before.length, 1);
    kubectl('delete', 'deployment', NAMES.server, '-n', bench.namespace, '--cascade=foreground');
    assert.deepEqual(await jobs(), before);
    const pods = await bench.workers(batch);
    assert.ok(pods.length > 0, 'its pods run');
    for (const { metadata, spec } of pods)
      assert.deepEqual(
        [
          metadata.labels?.['example.org/team'],
          spec?.terminationGracePeriodSeconds,
          spec?.nodeSelector,
          spec?.containers[0]?.resources?.limits?.['memory'],
        ],
        ['research', 40, { 'kubernetes.io/os': 'linux' }, '2Gi'],
        'they have the settings of the installation',
      );
    kubectl('apply', '-f', plain());
    await ready();
    await bench.assertSettledOnce(batch, 6);
    assert.deepEqual(await jobs(), before);
    const status = JSON.parse((await bench.rollout('target', 'status', '--json')).stdout) as {
      targets: { findings: { name: string; state: string; text: string }[] }[];
    };
    const outside = (status.targets[0]?.findings ?? []).filter(({ name }) => name === 'outside');
    assert.deepEqual(
      outside.map(({ state }) => state),
      ['missing', 'unknown'],
      'no controller has taken the Ingress, and the host does not exist',
    );
    const secret = await bench.cluster.get('Secret', TOKENS);
    assert.equal(Buffer.from(secret?.data?.['read'] ?? '', 'base64').toString(), 'r'.repeat(64));
    assert.equal(await bench.cluster.get('Secret', NAMES.tokens), undefined);
  });
});

function objectsIn(text: string): KubeObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
}

/** Kinds of Gateway API and KEDA, which the kit has not. These take any fields: only the names are checked. */
const KINDS_OF_OTHERS = (
  [
    ['gateway.networking.k8s.io', 'v1', 'HTTPRoute', 'httproutes'],
    ['gateway.networking.k8s.io', 'v1', 'BackendTLSPolicy', 'backendtlspolicies'],
    ['keda.sh', 'v1alpha1', 'ScaledObject', 'scaledobjects'],
  ] as const
).map(([group, name, kind, plural]) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `${plural}.${group}`,
    annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
  },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind, plural },
    versions: [
      {
        ...{ name, served: true, storage: true },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}));

function byName(text: string): Record<string, KubeObject> {
  const objects = objectsIn(text);
  return Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
}
