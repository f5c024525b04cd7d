import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { probeFinding, workerPodFindings } from '../../../../../src/client/targets/status/workerPod.ts';
import { Cluster } from '../../../../../src/kubernetes/access/cluster.ts';
import type { Pod } from '../../../../../src/kubernetes/access/objects.ts';
import { resolveOptions } from '../../../../../src/kubernetes/install/options.ts';
import { labels, NAMES } from '../../../../../src/kubernetes/names.ts';
import { type KubeReply, type KubeRequest, startKubeApi, statusReply } from '../../../../support/kubeApi.ts';

const OPTIONS = resolveOptions({ image: 'i:1' });
const URLS = 'https://rollout-studio.ns.svc:8443';
const pod = (status: Pod['status']): Pod => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, status }) as Pod;
const waiting = (reason: string): Pod =>
  pod({
    phase: 'Pending',
    containerStatuses: [
      { name: 'probe', image: 'i:1', imageID: '', ready: false, restartCount: 0, state: { waiting: { reason } } },
    ],
  });
const isPods = ({ path }: KubeRequest): boolean => /\/pods(\/|$)/.test(path);

/** The findings, and what was asked of the pods. */
async function tried(
  answer: (request: KubeRequest) => KubeReply | undefined,
  { probe = true, isUp = true, signal }: { probe?: boolean; isUp?: boolean; signal?: AbortSignal } = {},
) {
  await using api = await startKubeApi(
    (request) => answer(request) ?? { body: request.method === 'GET' ? { items: [], metadata: {} } : request.body },
  );
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig, context: 'test' });
  try {
    const findings = await workerPodFindings(cluster, { options: OPTIONS, probe, isUp }, signal);
    return { findings, requests: api.requests.filter(isPods) };
  } finally {
    cluster.close();
  }
}

/** One pod that ends this way. */
const ending =
  (status: Pod['status']) =>
  ({ method, path }: KubeRequest): KubeReply | undefined =>
    method === 'GET' && /rollout-probe-/.test(path) ? { body: pod(status) } : undefined;

describe('a pod that tries the way to the server', () => {
  it('is accepted in a dry run, runs where workers run, and is removed', async () => {
    const { findings, requests } = await tried(ending({ phase: 'Succeeded' }));
    assert.deepEqual(findings, [
      { name: 'limits', state: 'ok', text: 'the cluster accepts a worker pod' },
      { name: 'network', state: 'ok', text: `a pod reaches the server (with TLS, ${URLS})` },
    ]);
    const created = requests.filter(({ method }) => method === 'POST');
    assert.deepEqual(
      created.map(({ query }) => query.get('dryRun')),
      ['All', null],
    );
    const [worker, probe] = created.map(
      ({ body }) => body as { metadata: Pod['metadata']; spec: NonNullable<Pod['spec']> },
    );
    assert.ok(worker !== undefined && probe !== undefined);
    for (const [key, value] of Object.entries(labels('worker'))) assert.equal(probe.metadata.labels?.[key], value);
    const { securityContext, serviceAccountName, automountServiceAccountToken, containers, volumes } = probe.spec;
    assert.deepEqual(
      [securityContext, serviceAccountName, automountServiceAccountToken],
      [worker.spec.securityContext, NAMES.worker, false],
    );
    assert.deepEqual(
      [containers[0]?.securityContext, containers[0]?.image],
      [worker.spec.containers[0]?.securityContext, 'i:1'],
    );
    assert.deepEqual(
      volumes?.map(({ secret }) => secret?.items?.map(({ key }) => key)),
      [['ca.crt', 'tls.crt']],
      'no key of the authority',
    );
    const last = requests.at(-1);
    assert.deepEqual([last?.method, last?.path.endsWith(`/${probe.metadata.name}`)], ['DELETE', true]);
  });

  it('is removed when the status is interrupted', async () => {
    const stop = new AbortController();
    const removed: string[] = [];
    await assert.rejects(
      tried(
        ({ method, path, query }) => {
          if (method === 'DELETE') removed.push(path);
          if (method === 'POST' && query.get('dryRun') === null) setImmediate(() => stop.abort());
          return ending({ phase: 'Pending' })({ method, path } as KubeRequest);
        },
        { signal: stop.signal },
      ),
    );
    assert.equal(removed.length, 1);
  });

  it('is not started where that would not help, which is said instead', async () => {
    const refused = (message: string) => (request: KubeRequest) =>
      request.method === 'POST' ? statusReply(403, 'Forbidden', message) : undefined;
    const states = async (...of: Parameters<typeof tried>): Promise<string[]> =>
      (await tried(...of)).findings.map(({ state, text }) => `${state} ${text}`);
    assert.deepEqual(await states(() => undefined, { probe: false }), [
      'ok the cluster accepts a worker pod',
      'unknown not tried: no pod was to be started',
    ]);
    assert.equal((await states(() => undefined, { isUp: false }))[1], 'unknown not tried: the server does not run');
    assert.deepEqual(
      await states(
        refused('pods is forbidden: User "me" cannot create resource "pods" in API group "" in the namespace "ns"'),
      ),
      ['unknown no permission to create pods, so not tried', 'unknown not tried: no permission to create pods'],
    );
    const [limits, network] = await states(
      refused('pods "x" is forbidden: maximum memory usage per Container is 1Mi, but limit is 4Gi'),
    );
    assert.match(limits ?? '', /^wrong the cluster refuses a worker pod: .*maximum memory usage per Container is 1Mi/);
    assert.equal(network, 'unknown not tried: the cluster does not accept a pod');
    assert.match(
      (await states(refused('pods "x" is forbidden: exceeded quota: q, requested: pods=1')))[0] ?? '',
      /^wrong the cluster refuses a worker pod: Not enough quota/,
    );
  });

  it('says why it does not reach the server, or does not start', () => {
    const terminated = { exitCode: 1, message: 'connect ECONNREFUSED 10.0.0.1:8443 (ECONNREFUSED)' };
    const failed = probeFinding(
      pod({
        phase: 'Failed',
        containerStatuses: [
          { name: 'probe', image: 'i:1', imageID: '', ready: false, restartCount: 0, state: { terminated } },
        ],
      }),
      URLS,
      false,
    );
    assert.deepEqual(
      [failed?.state, failed?.text],
      ['wrong', `a pod cannot reach the server at ${URLS}: ${terminated.message}.`],
    );
    assert.equal(probeFinding(waiting('ContainerCreating'), URLS, false), undefined);
    assert.equal(probeFinding(waiting('ErrImagePull'), URLS, false), undefined, 'the next try may succeed');
    const pulled = probeFinding(waiting('ImagePullBackOff'), URLS, false);
    assert.match(`${pulled?.text ?? ''} ${pulled?.hint ?? ''}`, /ImagePullBackOff .*cluster upgrade --image IMAGE\.$/);
    assert.equal(probeFinding(waiting('ContainerCreating'), URLS, true)?.state, 'wrong');
  });
});
