/** A model whose replicas follow the requests that wait, and weights in a bucket. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseArgs } from 'node:util';
import { INSTALL_OPTIONS, readInstallOptions } from '../../../../src/cli/clusterOptions.ts';
import { parseOptions } from '../../../../src/cli/command.ts';
import { StudioError } from '../../../../src/common/errors.ts';
import { objectsOf } from '../../../../src/kubernetes/install/manifests/all.ts';
import type { InstallOptions } from '../../../../src/kubernetes/install/options.ts';

async function options(words: string, installed?: InstallOptions): Promise<InstallOptions> {
  const args = words.split(' ').filter((word) => word !== '');
  const { values } = parseArgs({ args, options: parseOptions(INSTALL_OPTIONS) });
  return await readInstallOptions({ words: [], options: values }, installed);
}

/** Returns the objects of the model by their kinds, as JSON. */
function objects(from: InstallOptions): ReadonlyMap<string, string> {
  const all = objectsOf(from, undefined, 'ns').filter(({ metadata }) =>
    metadata.name.startsWith('rollout-studio-vllm'),
  );
  return new Map(all.map((each) => [each.kind, JSON.stringify(each)]));
}

const KEDA = '--vllm org/model --vllm-autoscale keda --vllm-max-replicas 4 --vllm-prometheus http://p.monitoring:9090';

test('KEDA asks Prometheus for the requests that wait, and nothing else decides about replicas', async () => {
  const keda = await options(`${KEDA} --vllm-cache pvc --allow-ingress namespace:monitoring`);
  const found = objects(keda);
  assert.doesNotMatch(found.get('Deployment') ?? '', /"replicas"/, 'an apply leaves the number alone');
  assert.match(found.get('Deployment') ?? '', /"prometheus.io\/port":"8000"/);
  const scaled = found.get('ScaledObject') ?? '';
  assert.match(scaled, /"scaleTargetRef":\{"apiVersion":"apps\/v1","kind":"Deployment","name":"rollout-studio-vllm"\}/);
  assert.match(scaled, /"minReplicaCount":1,"maxReplicaCount":4/);
  assert.match(scaled, /"serverAddress":"http:\/\/p\.monitoring:9090"/);
  assert.match(
    scaled,
    /vllm:num_requests_waiting\{namespace=\\"ns\\",pod=~\\"rollout-studio-vllm-\[a-z0-9\]\+-\[a-z0-9\]\+\\"\}/,
  );
  assert.match(
    scaled,
    / \+ \(sum\(rollout_endpoint_excess_calls\{namespace=\\"ns\\",replica=~\\"rollout-studio-vllm-/,
    'the calls that the server holds back wait, too',
  );
  assert.match(
    scaled,
    /"clamp_min\(.*, 2 \* scalar\(\(sum\(max by \(replica\) \(rollout_endpoint_load_ratio\{[^}]+\}\)\) or vector\(0\)/,
    'replicas that the calls fill stay',
  );
  assert.match(scaled, /"scaleUp":\{"stabilizationWindowSeconds":60,"policies":\[\{"type":"Pods","value":1/);
  assert.match(found.get('PersistentVolumeClaim') ?? '', /ReadWriteMany/, 'replicas share the weights');
  assert.match(
    found.get('NetworkPolicy') ?? '',
    /"kubernetes.io\/metadata.name":"monitoring"/,
    'Prometheus reads them',
  );

  const hpa = objects(await options('--vllm-autoscale hpa --vllm-replicas 2', keda));
  assert.match(
    hpa.get('HorizontalPodAutoscaler') ?? '',
    /"minReplicas":2,"maxReplicas":4.*"vllm_num_requests_waiting"/,
  );
  assert.equal(hpa.has('ScaledObject'), false);
  const fixed = objects(await options('--vllm-autoscale none', keda));
  assert.match(fixed.get('Deployment') ?? '', /"replicas":1/);
  assert.deepEqual([fixed.has('ScaledObject'), fixed.has('HorizontalPodAutoscaler')], [false, false]);
});

test('autoscaling that cannot work is refused', async () => {
  for (const [words, message] of [
    ['--vllm org/model --vllm-autoscale hpa', /requires --vllm-max-replicas above 1/],
    ['--vllm org/model --vllm-replicas 4 --vllm-autoscale hpa --vllm-max-replicas 4', /above 4/],
    ['--vllm org/model --vllm-autoscale keda --vllm-max-replicas 4', /requires --vllm-prometheus/],
    ['--vllm org/model --vllm-autoscale magic --vllm-max-replicas 4', /expected keda or hpa/],
    ['--vllm-autoscale keda', /require a model/],
  ] as const)
    await assert.rejects(options(words), (error) => StudioError.is(error, 'usage') && message.test(error.message));
});

test('weights are streamed from a bucket with the credentials of a Secret', async () => {
  const found = objects(await options('--vllm s3://weights/qwen --vllm-s3-secret s3')).get('Deployment') ?? '';
  assert.match(found, /"--load-format","runai_streamer"/);
  assert.match(
    found,
    /"name":"AWS_ACCESS_KEY_ID","valueFrom":\{"secretKeyRef":\{"name":"s3","key":"AWS_ACCESS_KEY_ID"\}\}/,
  );
  assert.match(found, /"key":"AWS_ENDPOINT_URL","optional":true/);
  // MinIO in a cluster has no name for each bucket.
  assert.match(found, /"RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING","value":"0"/);
  const own = '--vllm s3://weights/qwen --vllm-argument=--load-format --vllm-argument=runai_streamer_sharded';
  const kept = objects(await options(own)).get('Deployment') ?? '';
  assert.equal(kept.match(/--load-format/g)?.length, 1, 'an argument of the user comes first');
  assert.doesNotMatch(objects(await options('--vllm org/model')).get('Deployment') ?? '', /load-format|AWS_|RUNAI_/);
});
