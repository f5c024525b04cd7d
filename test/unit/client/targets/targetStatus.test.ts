import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findServerPod, serverTokens } from '../../../../src/client/targets/serverPod.ts';
import { forOwner, type TargetFinding } from '../../../../src/client/targets/status/finding.ts';
import {
  gpusFinding,
  nodesFinding,
  podsFinding,
  quantity,
  quotaFinding,
} from '../../../../src/client/targets/status/resources.ts';
import { admissionFinding } from '../../../../src/client/targets/status/security.ts';
import { targetStatus } from '../../../../src/client/targets/targetStatus.ts';
import { StudioError } from '../../../../src/common/errors.ts';
import { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import type { Node, Pod, ResourceQuota } from '../../../../src/kubernetes/access/objects.ts';
import { labels, NAMES } from '../../../../src/kubernetes/names.ts';
import { type KubeReply, type KubeRequest, startKubeApi, statusReply } from '../../../support/kubeApi.ts';
import type { Partially } from '../../../support/partially.ts';

const base = { apiVersion: 'v1', metadata: { name: 'x' } };
const pod = (more: Partially<Pod>): Pod => ({ ...base, kind: 'Pod', ...more }) as Pod;
const worker = { name: 'w', labels: labels('worker') };
const ready = [{ type: 'Ready', status: 'True' }];
const silent = [
  { type: 'Ready', status: 'False' },
  { type: 'ContainersReady', status: 'True' },
];
const gpuPod = (gpus: string, nodeName?: string): Pod =>
  pod({
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      containers: [{ name: 'c', resources: { limits: { 'nvidia.com/gpu': gpus } } }],
    },
  });
const node = (more: Partial<Node>): Node => ({ ...base, kind: 'Node', ...more });
const quota = (hard: Record<string, string>, used: Record<string, string>): ResourceQuota => ({
  ...base,
  kind: 'ResourceQuota',
  status: { hard, used },
});

describe('the contents of a cluster', () => {
  it('include our live pods, and why one does not run', () => {
    assert.deepEqual(podsFinding([]), {
      name: 'pods',
      state: 'ok',
      text: '0 pods (0 workers)',
      data: { pods: 0, workers: 0, starting: 0, unheard: 0, obstacles: [] },
    });
    const running = pod({ metadata: worker, status: { phase: 'Running', conditions: ready } });
    const over = pod({ metadata: worker, status: { phase: 'Succeeded' } });
    assert.equal(podsFinding([running, over]).text, '1 pod (1 worker)');
    const starting = pod({
      metadata: worker,
      status: {
        phase: 'Pending',
        containerStatuses: [{ name: 'c', state: { waiting: { reason: 'ContainerCreating' } } }],
      },
    });
    assert.deepEqual(
      [podsFinding([running, starting]).state, podsFinding([running, starting]).text],
      ['ok', '2 pods (2 workers), 1 starting'],
    );
    const pulling = pod({
      metadata: { name: 'p' },
      status: {
        phase: 'Pending',
        containerStatuses: [
          { name: 'c', state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } },
        ],
      },
    });
    const found = podsFinding([running, pulling]);
    assert.deepEqual(
      [found.state, found.text],
      ['wrong', '2 pods (1 worker); 1 cannot run: pod p: ImagePullBackOff: no such image'],
    );
    const nowhere = pod({
      metadata: { name: 'q' },
      status: {
        phase: 'Pending',
        conditions: [
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes are available' },
        ],
      },
    });
    const unheard = pod({ metadata: worker, status: { phase: 'Running', conditions: silent } });
    assert.deepEqual(
      [podsFinding([running, unheard]).state, podsFinding([running, unheard]).text],
      ['ok', '2 pods (2 workers), 1 on nodes that do not respond'],
    );
    assert.match(podsFinding([nowhere]).text, /pod q: Unschedulable: 0\/3 nodes are available/);
  });

  it('include nodes that accept pods', () => {
    const well = node({ status: { conditions: ready } });
    assert.deepEqual(
      [
        nodesFinding([well, node({ ...well, spec: { unschedulable: true } }), node({})]).text,
        nodesFinding([node({})]).state,
      ],
      ['1 of 3 accept pods', 'wrong'],
    );
  });

  it("include GPUs: all, and free ones where other namespaces' pods are readable", () => {
    const nodes = [
      node({ status: { allocatable: { 'nvidia.com/gpu': '8' } } }),
      node({ status: { allocatable: { 'nvidia.com/gpu': '4' } } }),
      node({}),
    ];
    assert.deepEqual(gpusFinding(nodes, [gpuPod('2', 'n'), gpuPod('4')]).data, { gpus: 12, taken: 2 });
    const unknown = gpusFinding(nodes, undefined);
    assert.deepEqual(
      [unknown.state, unknown.text, unknown.data],
      ['unknown', '12; no permission to read how many are in use', { gpus: 12 }],
    );
    assert.deepEqual([gpusFinding([], undefined).state, gpusFinding([], undefined).text], ['ok', 'none']);
  });

  it('include the quota and its usage', () => {
    assert.equal(quotaFinding([]).text, 'none');
    const room = quotaFinding([
      quota({ pods: '10', 'requests.memory': '2Gi' }, { pods: '3', 'requests.memory': '512Mi' }),
    ]);
    assert.deepEqual([room.state, room.text], ['ok', 'pods 3 of 10, requests.memory 512Mi of 2Gi']);
    const full = quotaFinding([quota({ 'requests.cpu': '2', pods: '10' }, { 'requests.cpu': '2000m', pods: '1' })]);
    assert.equal(full.state, 'wrong');
    assert.match(full.text, /^used up: requests\.cpu \(/);
    assert.ok(full.hint !== undefined);
  });

  it('name the GitOps tool that would revert an upgrade', () => {
    const finding: TargetFinding = { name: 'model', state: 'wrong', text: '', hint: 'Run rollout cluster upgrade.' };
    const kept = forOwner(finding, 'the Argo CD application desk');
    assert.match(kept.hint ?? '', /^Run rollout cluster upgrade\. .* the Argo CD application desk: .* commit it/);
    assert.equal(forOwner(finding, undefined), finding);
    const other = { ...finding, hint: 'Free what it needs.' };
    assert.equal(forOwner(other, 'the Argo CD application desk'), other);
  });

  it('use amounts as Kubernetes writes them', () => {
    assert.deepEqual(['500m', '2', '1.5', '2Gi', '1e3', '3k', '5n'].map(quantity), [
      0.5,
      2,
      1.5,
      2 ** 31,
      1000,
      3000,
      5e-9,
    ]);
    assert.ok(Number.isNaN(quantity('2GiB')) && Number.isNaN(quantity('')));
  });
});

const LIST = (items: unknown[]): KubeReply => ({
  body: { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items },
});
const forbidden = (what: string): KubeReply =>
  statusReply(403, 'Forbidden', `${what} is forbidden: User "me" cannot list resource "${what}"`, { kind: what });

/** An empty cluster with few permissions. */
function answers(more: (request: KubeRequest) => KubeReply | undefined): (request: KubeRequest) => KubeReply {
  return (request) =>
    more(request) ??
    (request.path === '/api/v1/namespaces/ns'
      ? { body: { metadata: { name: 'ns' } } }
      : request.path === '/version'
        ? { body: { gitVersion: 'v1.34.0' } }
        : request.path.endsWith('deployments/rollout-studio')
          ? statusReply(404, 'NotFound', 'no', { name: NAMES.server, kind: 'deployments', group: 'apps' })
          : request.path.endsWith('configmaps/rollout-studio-options')
            ? statusReply(404, 'NotFound', 'no', { name: NAMES.options, kind: 'configmaps' })
            : LIST([]));
}

describe('the status of a target', () => {
  it('reports unreadable parts as unknown, and continues', async () => {
    await using api = await startKubeApi(
      answers(({ path }) =>
        path === '/api/v1/nodes'
          ? forbidden('nodes')
          : path.includes('resourcequotas')
            ? forbidden('resourcequotas')
            : undefined,
      ),
    );
    const { findings } = await targetStatus('k', { context: 'test', kubeconfig: api.kubeconfig }, { env: {} });
    assert.deepEqual(
      findings.map(({ name, state }) => [name, state]),
      [
        ['cluster', 'ok'],
        ['security', 'missing'],
        ['server', 'missing'],
        ['pods', 'ok'],
        ['nodes', 'unknown'],
        ['gpus', 'unknown'],
        ['quota', 'unknown'],
      ],
    );
    assert.match(
      findings.find(({ name }) => name === 'security')?.hint ?? '',
      /kubectl --kubeconfig \S+ --context test label --overwrite namespace \S+ pod-security\.kubernetes\.io\/enforce=/,
    );
    assert.match(findings.find(({ name }) => name === 'nodes')?.text ?? '', /^no permission to read: /);
    assert.match(findings.find(({ name }) => name === 'server')?.hint ?? '', /rollout cluster install/);
  });

  it('says what nothing enforces where the installation leaves admission policies to others', async () => {
    const policy = async (who: string): Promise<TargetFinding | undefined> => {
      const labels = { 'app.kubernetes.io/name': 'rollout-studio' };
      await using api = await startKubeApi(
        answers(({ path }) =>
          path.endsWith('deployments/rollout-studio')
            ? { body: { kind: 'Deployment', metadata: { name: NAMES.server, labels }, spec: {}, status: {} } }
            : path.endsWith('configmaps/rollout-studio-options')
              ? {
                  body: {
                    kind: 'ConfigMap',
                    metadata: { name: NAMES.options, labels },
                    data: { 'options.json': JSON.stringify({ admissionPolicies: who }) },
                  },
                }
              : path.includes('validatingadmissionpolicybindings/')
                ? statusReply(404, 'NotFound', 'no', { name: 'p', kind: 'validatingadmissionpolicybindings' })
                : undefined,
        ),
      );
      const cluster = await Cluster.open({ kubeconfig: api.kubeconfig, context: 'test' });
      try {
        return (await admissionFinding(cluster, undefined))[0];
      } finally {
        cluster.close();
      }
    };
    const others = await policy('none');
    assert.equal(others?.state, 'missing');
    assert.match(others.text, /the installation leaves them to others \(--admission-policies none\)/);
    assert.match(others.hint ?? '', /RBAC alone limits .* render --admission-policies install prints\./);
    const own = await policy('install');
    assert.match(own?.text ?? '', /^admission policies are missing: rollout-studio-objects\./);
    assert.match(own?.hint ?? '', /RBAC alone limits .* rollout cluster upgrade/);
  });

  it('reports a missing namespace, where that is readable', async () => {
    const namespaces = async (reply: KubeReply): Promise<string[]> => {
      await using api = await startKubeApi(
        answers(({ path }) => (path === '/api/v1/namespaces/ns' ? reply : undefined)),
      );
      const { findings } = await targetStatus('k', { context: 'test', kubeconfig: api.kubeconfig }, { env: {} });
      return findings
        .filter(({ name }) => name === 'namespace' || name === 'cluster')
        .map(({ state, text }) => `${state} ${text}`);
    };
    assert.match(
      (await namespaces(statusReply(404, 'NotFound', 'no', { name: 'ns', kind: 'namespaces' })))[1] ?? '',
      /^missing the namespace ns does not exist$/,
    );
    assert.equal((await namespaces(forbidden('namespaces'))).length, 1);
  });

  it('is one finding with its hint when the cluster is unreachable', async () => {
    const { findings } = await targetStatus('k', { context: 'gone', kubeconfig: '/nonexistent/config' }, { env: {} });
    assert.deepEqual(
      findings.map(({ name, state }) => [name, state]),
      [['cluster', 'wrong']],
    );
    assert.ok(findings[0]?.hint !== undefined);
  });

  it('reports clocks that differ', async () => {
    await using api = await startKubeApi(
      answers(({ path }) =>
        path === '/version'
          ? { body: { gitVersion: 'v1.34.0' }, headers: { date: new Date(Date.now() - 600_000).toUTCString() } }
          : undefined,
      ),
    );
    const { findings } = await targetStatus('k', { context: 'test', kubeconfig: api.kubeconfig }, { env: {} });
    const clock = findings.find(({ name }) => name === 'clock');
    assert.equal(clock?.state, 'wrong');
    assert.match(clock.text, /the clock of the cluster is \d+ s behind the local clock/);
  });

  it('is one finding for an unset address, too', async () => {
    const { findings } = await targetStatus('u', { url: 'https://127.0.0.1:1', token_env: 'NOT_SET' }, { env: {} });
    assert.deepEqual(
      findings.map(({ name, state }) => [name, state]),
      [['server', 'wrong']],
    );
  });
});

describe('the server in a cluster', () => {
  const open = (kubeconfig: string): Promise<Cluster> => Cluster.open({ kubeconfig, context: 'test' });
  const serverPod = (name: string, status: unknown, metadata = {}): unknown => ({
    metadata: { name, labels: labels('server'), ...metadata },
    spec: { containers: [{ name: 'server', ports: [{ name: 'http', containerPort: 8080 }] }] },
    status,
  });

  it('is its ready pod, and not a terminating one', async () => {
    const up = { phase: 'Running', conditions: ready };
    await using api = await startKubeApi(
      answers(({ path }) =>
        path.endsWith('/pods')
          ? LIST([serverPod('old', up, { deletionTimestamp: '2026-01-01T00:00:00Z' }), serverPod('new', up)])
          : undefined,
      ),
    );
    assert.deepEqual(await findServerPod(await open(api.kubeconfig)), {
      name: 'new',
      port: 8080,
      tlsPort: undefined,
      tokens: NAMES.tokens,
    });
    const [{ query }] = api.requests.filter(({ path }) => path.endsWith('/pods')) as [KubeRequest];
    assert.match(query.get('labelSelector') ?? '', /component=server/);
  });

  it('may be starting, or unable to start', async () => {
    const template = { metadata: { annotations: { 'rollout-studio/version': 'v' } } };
    const deployment = { metadata: { name: NAMES.server }, spec: { template } };
    let pods: unknown[] = [];
    await using api = await startKubeApi(
      answers(({ path }) =>
        path.endsWith('/pods')
          ? LIST(pods)
          : path.endsWith(`deployments/${NAMES.server}`)
            ? { body: deployment }
            : undefined,
      ),
    );
    const cluster = await open(api.kubeconfig);
    assert.deepEqual(await findServerPod(cluster), {
      why: 'The server’s pod is being created.',
      stuck: false,
      hint: undefined,
    });
    pods = [serverPod('new', { phase: 'Running' }, template.metadata)];
    assert.deepEqual(await findServerPod(cluster), { why: 'The server is starting.', stuck: false, hint: undefined });
    pods = [serverPod('new', { phase: 'Running', conditions: silent }, template.metadata)];
    const unheard = await findServerPod(cluster);
    assert.deepEqual('unresponsive' in unheard && unheard.unresponsive, {
      name: 'new',
      port: 8080,
      tlsPort: undefined,
      tokens: NAMES.tokens,
    });
    pods = [
      serverPod(
        'new',
        {
          phase: 'Pending',
          containerStatuses: [
            { name: 'server', image: 'i', state: { waiting: { reason: 'ImagePullBackOff', message: 'no' } } },
          ],
        },
        template.metadata,
      ),
    ];
    const found = await findServerPod(cluster);
    assert.ok('stuck' in found && found.stuck && found.hint !== undefined);
    assert.equal(found.why, 'Cannot pull the image i: no');
  });

  it('may be missing', async () => {
    await using api = await startKubeApi(answers(() => undefined));
    await assert.rejects(findServerPod(await open(api.kubeconfig)), (error) => StudioError.is(error, 'not_found'));
  });

  it('has its tokens in a Secret of others, which its pod names', async () => {
    const up = { phase: 'Running', conditions: ready };
    const pod = serverPod('new', up) as { spec: object };
    const spec = { ...pod.spec, volumes: [{ name: 'tokens', secret: { secretName: 'of-others' } }] };
    const data = { full: Buffer.from('f').toString('base64'), read: Buffer.from('r').toString('base64') };
    await using api = await startKubeApi(
      answers(({ path }) =>
        path.endsWith('/pods')
          ? LIST([{ ...pod, spec }])
          : path.endsWith('secrets/of-others')
            ? { body: { metadata: { name: 'of-others' }, data } }
            : undefined,
      ),
    );
    const cluster = await open(api.kubeconfig);
    const found = await findServerPod(cluster);
    assert.ok('tokens' in found);
    assert.deepEqual(await serverTokens(cluster, undefined, found.tokens), { full: 'f', read: 'r' });
    await assert.rejects(
      serverTokens(cluster, undefined, 'gone'),
      (error) => StudioError.is(error, 'not_found') && /Whoever manages it/.test(error.hint ?? ''),
    );
  });

  it('has its tokens in a Secret', async () => {
    const data = { full: Buffer.from('f\n').toString('base64'), read: Buffer.from('r').toString('base64') };
    await using api = await startKubeApi(
      answers(({ path }) =>
        path.endsWith(`secrets/${NAMES.tokens}`) ? { body: { metadata: { name: NAMES.tokens }, data } } : undefined,
      ),
    );
    assert.deepEqual(await serverTokens(await open(api.kubeconfig)), { full: 'f', read: 'r' });
    api.answer = answers(({ path }) =>
      path.endsWith(`secrets/${NAMES.tokens}`)
        ? { body: { metadata: { name: NAMES.tokens }, data: { full: data.full } } }
        : undefined,
    );
    await assert.rejects(serverTokens(await open(api.kubeconfig)), (error) => StudioError.is(error, 'not_found'));
  });
});
