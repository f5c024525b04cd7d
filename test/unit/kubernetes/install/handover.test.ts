/** Who decides about the number of a model's replicas, when an autoscaler is turned on, changed, or turned off. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { FIELD_MANAGER } from '../../../../src/kubernetes/access/applying.ts';
import { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import type { KubeObject } from '../../../../src/kubernetes/access/objects.ts';
import { objectsOf } from '../../../../src/kubernetes/install/manifests/all.ts';
import { resolveOptions } from '../../../../src/kubernetes/install/options.ts';
import { removeScalers, withReplicas } from '../../../../src/kubernetes/install/vllm/handover.ts';
import { labels, NAMES } from '../../../../src/kubernetes/names.ts';
import { startKubeApi, statusReply } from '../../../support/kubeApi.ts';

const CALL = { dryRun: false, signal: new AbortController().signal };
const DEPLOYMENT = '/apis/apps/v1/namespaces/ns/deployments/rollout-studio-vllm';
const scaledSpec = z.object({ spec: z.object({ replicas: z.number().optional() }) });

function objects(autoscale: 'keda' | 'hpa' | undefined): KubeObject[] {
  const more = autoscale === undefined ? {} : { autoscale, maxReplicas: 8, prometheus: 'http://prometheus:9090' };
  return objectsOf(resolveOptions({ vllm: { model: 'org/model', ...more } }), undefined, 'ns');
}

const deploymentOf = (all: readonly KubeObject[]): KubeObject =>
  all.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === NAMES.vllm) ?? assert.fail();
const scalerOf = (all: readonly KubeObject[]): KubeObject =>
  all.find(({ kind }) => kind === 'ScaledObject' || kind === 'HorizontalPodAutoscaler') ?? assert.fail();
const replicasOf = (object: KubeObject): number | undefined => scaledSpec.parse(object).spec.replicas;

/** A cluster whose Deployment has 4 replicas, as `manager` set them, and which has these autoscalers. */
async function clusterWith(manager: string, scalers: readonly KubeObject[] = []) {
  const api = await startKubeApi(({ method, path, query }) => {
    if (path === DEPLOYMENT)
      return {
        body: {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: {
            name: NAMES.vllm,
            labels: labels('vllm'),
            managedFields: [{ manager, operation: 'Apply', fieldsV1: { 'f:spec': { 'f:replicas': {} } } }],
          },
          spec: { replicas: 4 },
        },
      };
    if (method === 'DELETE') return { body: {} };
    const kind = path.endsWith('/scaledobjects') ? 'ScaledObject' : 'HorizontalPodAutoscaler';
    const isOurs = query.get('labelSelector')?.includes('component=vllm') === true;
    if (path.endsWith('/scaledobjects') || path.endsWith('/horizontalpodautoscalers'))
      return { body: { metadata: {}, items: isOurs ? scalers.filter((each) => each.kind === kind) : [] } };
    return statusReply(404, 'NotFound', 'no', { name: 'x', kind: 'x' });
  });
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig, context: 'test' });
  return {
    api,
    cluster,
    async [Symbol.asyncDispose]() {
      cluster.close();
      await api[Symbol.asyncDispose]();
    },
  };
}

test('an autoscaler that is turned on starts from the replicas that run', async () => {
  const scaled = deploymentOf(objects('keda'));
  assert.equal(replicasOf(scaled), undefined);
  await using ours = await clusterWith(FIELD_MANAGER);
  const first = await withReplicas(ours.cluster, scaled, [], CALL);
  assert.deepEqual([replicasOf(first.object), first.force], [4, false], 'leaving the number out would reset it to 1');
  await using theirs = await clusterWith('kube-controller-manager');
  const later = await withReplicas(theirs.cluster, scaled, [], CALL);
  assert.equal(replicasOf(later.object), undefined, 'the autoscaler has it now');
});

test('an autoscaler that is turned off or replaced goes first, and gives the number back', async () => {
  const keda = scalerOf(objects('keda'));
  const fixed = objects(undefined);
  await using found = await clusterWith('kube-controller-manager', [keda]);
  const { api, cluster } = found;
  assert.deepEqual(await removeScalers(cluster, objects('keda'), CALL), [], 'it stays');
  assert.equal((await removeScalers(cluster, objects('hpa'), { ...CALL, dryRun: true })).length, 1);
  assert.equal(
    api.requests.some(({ method }) => method === 'DELETE'),
    false,
    'a dry run removes nothing',
  );
  const removed = await removeScalers(cluster, fixed, CALL);
  assert.deepEqual(
    removed.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    ['ScaledObject rollout-studio-vllm'],
  );

  const isPatch = ({ method, path }: { method: string; path: string }): boolean =>
    method === 'PATCH' && path === DEPLOYMENT;
  const untouched = await withReplicas(cluster, deploymentOf(fixed), [], CALL);
  assert.deepEqual([api.requests.some(isPatch), untouched.force], [false, false], 'what others scale is not ours');
  assert.equal((await withReplicas(cluster, deploymentOf(fixed), removed, { ...CALL, dryRun: true })).force, true);
  const taken = await withReplicas(cluster, deploymentOf(fixed), removed, CALL);
  assert.deepEqual([replicasOf(taken.object), taken.force], [1, false]);
  assert.equal(scaledSpec.parse(api.requests.find(isPatch)?.body).spec.replicas, 1);
});
