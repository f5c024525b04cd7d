/** What `target status` says of the autoscaler of a model. The states are those of KEDA 2.21 and Kubernetes 1.34. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Scaling, scalingOf } from '../../../../src/client/targets/status/scaling.ts';
import { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import { vllmOptions } from '../../../../src/kubernetes/install/vllm/options.ts';
import { startKubeApi, statusReply } from '../../../support/kubeApi.ts';

interface Found {
  readonly scaled?: unknown;
  readonly hpa?: unknown;
}

async function scaling(autoscale: 'keda' | 'hpa', { scaled, hpa }: Found): Promise<Scaling | undefined> {
  await using api = await startKubeApi(({ path }) => {
    const found = path.includes('/scaledobjects/') ? scaled : hpa;
    return found === undefined
      ? statusReply(404, 'NotFound', 'no', { name: 'm', kind: 'x' })
      : { body: { metadata: { name: 'm' }, status: found } };
  });
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig, context: 'test' });
  try {
    return await scalingOf(cluster, 'm', vllmOptions.parse({ model: 'o/m', autoscale, maxReplicas: 4 }), undefined);
  } finally {
    cluster.close();
  }
}

const READY = { conditions: [{ type: 'Ready', status: 'True' }], hpaName: 'keda-hpa-m' };
const ACTIVE = { conditions: [{ type: 'ScalingActive', status: 'True' }] };

test('an autoscaler that works is no problem', async () => {
  assert.deepEqual(await scaling('keda', { scaled: READY, hpa: ACTIVE }), { by: 'keda', min: 1, max: 4 });
  assert.deepEqual(await scaling('hpa', { hpa: ACTIVE }), { by: 'hpa', min: 1, max: 4 });
});

test('one that does not says why', async () => {
  const problem = async (by: 'keda' | 'hpa', found: Found): Promise<string> =>
    (await scaling(by, found))?.problem?.text ?? 'none';
  assert.match(await problem('keda', { scaled: {} }), /KEDA has not taken up its ScaledObject/);
  assert.match(await problem('keda', {}), /its ScaledObject m is missing/);
  assert.match(await problem('keda', { scaled: READY }), /keda-hpa-m is missing/);
  const paused = { conditions: [...READY.conditions, { type: 'Paused', status: 'True' }] };
  assert.match(await problem('keda', { scaled: paused }), /KEDA is paused/);
  const failed = { type: 'Ready', status: 'False', reason: 'ScaledObjectCheckFailed', message: 'No trigger.' };
  assert.equal(
    await problem('keda', { scaled: { conditions: [failed] } }),
    'KEDA cannot scale it: No trigger (ScaledObjectCheckFailed)',
  );
  const blind = {
    type: 'ScalingActive',
    status: 'False',
    reason: 'FailedGetPodsMetric',
    message: 'no custom metrics API',
  };
  assert.match(
    await problem('hpa', { hpa: { conditions: [blind] } }),
    /cannot scale it: no custom metrics API \(FailedGetPodsMetric\)/,
  );
  const disabled = { ...blind, reason: 'ScalingDisabled' };
  assert.equal(await problem('hpa', { hpa: { conditions: [disabled] } }), 'none', 'scaled to 0, which is said anyway');
});
