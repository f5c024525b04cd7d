import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterHost } from '../../../src/executor/executor.ts';
import { FrozenPods } from '../../../src/executor/kubernetes/frozenPods.ts';
import { NOTE } from '../../../src/executor/kubernetes/jobManifest.ts';
import { Cluster } from '../../../src/kubernetes/access/cluster.ts';
import type { EventData } from '../../../src/trace/schema.ts';
import { type KubeReply, startKubeApi, statusReply } from '../../support/kubeApi.ts';

const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

interface Situation {
  readonly status?: object;
  readonly batch?: string;
  readonly metadata?: object;
  /** The pods with a session. */
  readonly workers?: readonly string[];
  readonly deletes?: KubeReply;
}

/** What happens to the pod `p` when its worker's lease ended: its deletions, and what its batch records. */
async function lost({ status = running, batch = 'b1', metadata = {}, workers = [], deletes }: Situation): Promise<{
  readonly deletions: readonly unknown[];
  readonly infra: readonly EventData['infra'][];
}> {
  const pod = {
    metadata: { name: 'p', uid: 'u1', annotations: { [NOTE.batch]: batch }, ...metadata },
    status,
  };
  await using api = await startKubeApi(({ method }) =>
    method === 'DELETE' && deletes !== undefined ? deletes : { body: pod },
  );
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig });
  const infra: EventData['infra'][] = [];
  const host: Pick<ClusterHost, 'workers' | 'recordInfra'> = {
    workers: () => Promise.resolve([...workers]),
    recordInfra: (_, what) => {
      infra.push(what);
      return Promise.resolve();
    },
  };
  const { signal } = new AbortController();
  const pods = new FrozenPods({ cluster, host: host as ClusterHost, signal, returnMs: 1 });
  // The loss may be seen more than once.
  await Promise.all([pods.workerLost('b1', 'p'), pods.workerLost('b1', 'p')]);
  cluster.close();
  return { deletions: api.requests.filter(({ method }) => method === 'DELETE').map(({ body }) => body), infra };
}

test('a pod whose worker lost its lease and does not come back is deleted, and its batch says why', async () => {
  const { deletions, infra } = await lost({});
  assert.equal(deletions.length, 1);
  const [body] = deletions as { gracePeriodSeconds?: number; preconditions?: { uid?: string } }[];
  assert.deepEqual([body?.gracePeriodSeconds, body?.preconditions?.uid], [1, 'u1']);
  assert.deepEqual(
    infra.map(({ what, pod }) => [what, pod]),
    [['pod_frozen', 'p']],
  );
  assert.match(infra[0]?.text ?? '', /did not respond .* so the server deleted it/);
});

test('one that came back, ends, is on a lost node, or belongs to another batch is kept', async () => {
  for (const situation of [
    { workers: ['p'] },
    { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
    { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] } },
    { status: { phase: 'Failed' } },
    { batch: 'b2' },
  ])
    assert.deepEqual(await lost(situation), { deletions: [], infra: [] });
});

test('without the right to delete it, its batch says what to do', async () => {
  const { infra } = await lost({ deletes: statusReply(403, 'Forbidden', 'pods "p" is forbidden') });
  assert.match(
    infra[0]?.text ?? '',
    /cannot delete it: .* is forbidden\. Delete it yourself\. .*rollout cluster upgrade/,
  );
});
