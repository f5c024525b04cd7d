import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  jobEventNotices,
  lostNode,
  podEnd,
  podEventNotices,
  podNotices,
} from '../../../src/executor/kubernetes/podLife.ts';
import { PodWatch } from '../../../src/executor/kubernetes/podWatch.ts';
import type { KubeEvent, Pod } from '../../../src/kubernetes/access/objects.ts';
import type { Partially } from '../../support/partially.ts';

type Status = Partially<NonNullable<Pod['status']>>;
type State = NonNullable<NonNullable<Status['containerStatuses']>[number]['state']>;

function pod(
  status: Status = {},
  changes: { uid?: string; batch?: string; deleted?: boolean; node?: string } = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    spec: { nodeName: changes.node ?? 'n1' },
    status,
    metadata: {
      name: `p-${changes.uid ?? '1'}`,
      uid: changes.uid ?? '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: { 'rollout-studio/batch-id': changes.batch ?? 'b1' },
      ...(changes.deleted === true ? { deletionTimestamp: '2026-01-01T00:01:00Z' } : {}),
    },
  } satisfies Partially<Pod> as unknown as Pod;
}

function worker(state: State, more: Status = {}): Status {
  return { containerStatuses: [{ name: 'worker', image: 'i:1', state }], ...more };
}

function event(kind: string, reason: string, message: string, more: Partial<KubeEvent> = {}): KubeEvent {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'e' },
    reason,
    message,
    involvedObject: { kind, name: 'rollout-b1-1', uid: '1' },
    ...more,
  };
}

const disrupted = (reason: string): Status => ({
  conditions: [{ type: 'DisruptionTarget', status: 'True', reason, message: 'because' }],
});

describe('podNews', () => {
  const said = (status: Status): string[] =>
    podNotices(pod(status)).map(({ of, infra }) => `${of} ${infra.what}: ${infra.text}`);

  it('records what its containers run, and says when that is known on its node only', () => {
    const digest = `sha256:${'ab'.repeat(32)}`;
    const runs = (imageID: string): string[] =>
      podNotices({
        ...pod({
          containerStatuses: [{ name: 'worker', image: 'node:24', imageID, state: { running: {} } }],
        }),
        spec: { containers: [{ name: 'worker', image: 'node:24' }] },
      }).flatMap(({ of, infra }) => (infra.what === 'pod_runs' ? [`${of} ${infra.text}`] : []));
    assert.deepEqual(runs(`docker.io/library/node@${digest}`), [`batch Container worker runs node:24@${digest}.`]);
    assert.deepEqual(runs(digest), [
      `batch Container worker runs node:24 (${digest} on its node). It has no digest of a registry, so other nodes ` +
        'may have another image of this name.',
    ]);
    assert.deepEqual(runs(''), []);
  });

  it('reports why a pod waits', () => {
    assert.deepEqual(said({}), []);
    assert.deepEqual(
      said({
        conditions: [
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes are available' },
        ],
      }),
      ['batch pod_pending: Pod p-1 is waiting for a node: 0/3 nodes are available'],
    );
    assert.deepEqual(said(worker({ waiting: { reason: 'ContainerCreating' } })), []);
    assert.deepEqual(said(worker({ waiting: { reason: 'ErrImagePull', message: 'no such host' } })), [
      'batch pod_image: Cannot pull image i:1 for pod p-1 (ErrImagePull): no such host',
    ]);
    assert.deepEqual(said(worker({ waiting: { reason: 'CreateContainerConfigError', message: 'no secret' } })), [
      'batch pod_start: Container worker of pod p-1 cannot start (CreateContainerConfigError): no secret',
    ]);
    assert.deepEqual(
      said({
        initContainerStatuses: [{ name: 'browser', image: 'b:1', state: { waiting: { reason: 'ImagePullBackOff' } } }],
      }),
      ['batch pod_image: Cannot pull image b:1 for pod p-1 (ImagePullBackOff): the cluster gave no reason'],
    );
  });

  it('is equal for equal reasons, whatever the numbers', () => {
    const key = (message: string): string | undefined =>
      podNotices(pod({ conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }] }))[0]
        ?.key;
    assert.equal(key('0/3 nodes: 3 Insufficient cpu'), key('1/12 nodes: 11 Insufficient cpu'));
    assert.notEqual(key('0/3 nodes: 3 Insufficient cpu'), key('0/3 nodes: 3 Insufficient memory'));
  });

  it('reports its start, and after how long', () => {
    const [news] = podNotices(pod(worker({ running: { startedAt: '2026-01-01T00:00:04Z' } })));
    assert.deepEqual(
      [news?.of, news?.infra],
      [
        'pod',
        {
          what: 'pod_started',
          pod: 'p-1',
          node: 'n1',
          ms: 4000,
          text: 'Pod p-1 started on node n1, 4 s after its creation.',
        },
      ],
    );
  });
});

describe('podEnd', () => {
  const end = (of: Pod, gone = false): string | undefined => {
    const found = podEnd(of, gone);
    return found === undefined ? undefined : `${found.infra.what}: ${found.infra.text}`;
  };
  it('is undefined while the worker runs', () => {
    assert.equal(end(pod(worker({ running: {} }, { phase: 'Running' }))), undefined);
    assert.equal(end(pod(worker({ running: {} }, { phase: 'Running' }), { deleted: true })), undefined);
  });
  it('is no failure if its worker handed its rollouts over, and says why it had to', () => {
    const handedOver = worker({ terminated: { exitCode: 4 } }, disrupted('EvictionByEvictionAPI'));
    const found = podEnd(pod(handedOver, { deleted: true }));
    assert.deepEqual([found?.isClean, found?.isNews], [true, true]);
    assert.equal(
      end(pod(handedOver, { deleted: true })),
      'pod_handover: Pod p-1 was evicted, as when a node is drained, on node n1 (EvictionByEvictionAPI): because. ' +
        'It handed its rollouts over.',
    );
    assert.equal(
      end(pod(worker({ terminated: { exitCode: 4 } })), true),
      'pod_handover: Pod p-1 was deleted. It handed its rollouts over.',
    );
  });

  it('reports the most specific cause', () => {
    assert.equal(podEnd(pod(worker({ terminated: { exitCode: 0 } })))?.isClean, true);
    assert.match(
      end(pod(worker({ terminated: { exitCode: 137, reason: 'OOMKilled' } }), { deleted: true })) ?? '',
      /^pod_oom: Pod p-1 was killed on node n1 because it exceeded its memory limit/,
    );
    assert.equal(
      end(pod(worker({ terminated: { exitCode: 3, message: 'a\nServer is gone.\n' } }))),
      'pod_failed: Pod p-1 ended with exit code 3 on node n1: Server is gone.',
    );
    assert.equal(
      end(pod(worker({ terminated: { exitCode: 3 } }), { deleted: true })),
      'pod_deleted: Pod p-1 was deleted.',
    );
    assert.equal(end(pod(worker({ running: {} })), true), 'pod_deleted: Pod p-1 was deleted.');
    for (const [reason, what] of [
      ['EvictionByEvictionAPI', 'pod_evicted'],
      ['DeletionByTaintManager', 'node_lost'],
      ['PreemptionByScheduler', 'pod_preempted'],
    ] as const) {
      assert.equal(
        end(pod(worker({ terminated: { exitCode: 3 } }, disrupted(reason)), { deleted: true })),
        `${what}: Pod p-1 was ${what === 'pod_evicted' ? 'evicted, as when a node is drained,' : 'removed'} ` +
          `on node n1 (${reason}): because`,
      );
    }
    assert.equal(
      end(pod({ phase: 'Failed', reason: 'Evicted', message: 'disk pressure' })),
      'pod_evicted: Pod p-1 was evicted on node n1: disk pressure',
    );
  });
});

describe('events of the cluster', () => {
  it('report quotas, pulls, and objects that are not removed', () => {
    assert.deepEqual(
      jobEventNotices(
        event('Job', 'FailedCreate', 'Error creating: pods "x" is forbidden: exceeded quota: few, used: pods=2'),
      ).map(({ infra }) => infra),
      [
        {
          what: 'quota',
          text:
            'The namespace has reached its quota, so pods wait until other pods end: exceeded quota: ' +
            'few, used: pods=2',
        },
      ],
    );
    assert.equal(jobEventNotices(event('Job', 'SuccessfulCreate', 'Created pod')).length, 0);
    const [refused, again] = ['a-1-0-x7k2p', 'a-1-0-b9dqw'].map(
      (name) =>
        jobEventNotices(
          event(
            'Job',
            'FailedCreate',
            `Error creating: pods "${name}" is forbidden: failed quota: small: must specify limits.memory for: worker`,
          ),
        )[0],
    );
    assert.equal(refused?.key, again?.key, 'each try has a pod of another name');
    assert.match(
      refused?.infra.text ?? '',
      /failed quota: small: must specify .* \(set them with `pods\.requests` and `pods\.limits` in the batch file\)$/,
    );
    assert.equal(podEventNotices(pod(), event('Pod', 'Pulling', 'Pulling image "x"'))[0]?.infra.what, 'pod_pulling');
    assert.equal(podEventNotices(pod(), event('Pod', 'FailedMount', 'timed out', { count: 1 })).length, 0);
    assert.equal(
      podEventNotices(pod(), event('Pod', 'FailedMount', 'no secret', { count: 3 }))[0]?.infra.what,
      'pod_pending',
    );
  });
});

describe('PodWatch', () => {
  function watched(worked = true): {
    watch: PodWatch;
    reports: string[];
    ended: string[];
    active: Set<string>;
    working: Set<string>;
    queries: string[];
  } {
    const reports: string[] = [];
    const ended: string[] = [];
    const active = new Set(['b1']);
    const working = new Set<string>();
    const queries: string[] = [];
    const watch = new PodWatch({
      onPod: () => undefined,
      isReleased: (batch: string) => batch === 'let go',
      isActive: (batch) => active.has(batch),
      record: (batch, { what, pod: of = '' }) => reports.push(`${batch} ${what} ${of}`),
      workers: (batch) => {
        queries.push(batch);
        return Promise.resolve([...working]);
      },
      ended: (batch, of) => {
        ended.push(`${batch} ${of}`);
        return Promise.resolve(worked);
      },
    });
    return { watch, reports, ended, active, working, queries };
  }
  const running = worker({ running: { startedAt: '2026-01-01T00:00:01Z' } });
  const failed = worker({ terminated: { exitCode: 3 } });

  it('reports each thing once, and the end of a pod immediately', async () => {
    const { watch, reports, ended } = watched();
    await watch.onList([]);
    const waiting = worker({ waiting: { reason: 'ErrImagePull' } });
    for (const uid of ['1', '2']) await watch.onEvent('ADDED', pod(waiting, { uid }));
    for (const status of [running, running, failed]) await watch.onEvent('MODIFIED', pod(status, { uid: '1' }));
    await watch.onEvent('DELETED', pod(failed, { uid: '1' }));
    await watch.onEvent('DELETED', pod(waiting, { uid: '2', deleted: true }));
    assert.deepEqual(reports, ['b1 pod_image p-1', 'b1 pod_started p-1', 'b1 pod_failed p-1', 'b1 pod_deleted p-2']);
    assert.deepEqual(ended, ['b1 p-1', 'b1 p-2']);
    assert.match(watch.lastBadEnd('b1') ?? '', /p-2 was deleted/);
  });

  it('reports about an earlier server’s pods only what that one cannot have reported', async () => {
    const idle = watched(false);
    await idle.watch.onList([pod(running, { uid: '1' }), pod(failed, { uid: '2' })]);
    assert.deepEqual([idle.reports, idle.ended], [[], ['b1 p-2']]);
    const busy = watched(true);
    await busy.watch.onList([pod(failed, { uid: '2' })]);
    assert.deepEqual(busy.reports, ['b1 pod_failed p-2']);
  });

  it('does not report the pods that a paused batch releases', async () => {
    const { watch, reports, ended, active } = watched();
    active.add('let go');
    await watch.onList([]);
    await watch.onEvent('ADDED', pod(running, { batch: 'let go' }));
    await watch.onEvent('MODIFIED', pod(running, { batch: 'let go', deleted: true }));
    await watch.onEvent('DELETED', pod(failed, { batch: 'let go', deleted: true }));
    assert.deepEqual([reports, ended], [['let go pod_started p-1'], ['let go p-1']]);
    assert.equal(watch.lastBadEnd('let go'), undefined);
  });

  it('notices pods that vanished while nobody watched', async () => {
    const { watch, reports } = watched();
    await watch.onList([]);
    await watch.onEvent('ADDED', pod(running));
    await watch.onList([]);
    assert.deepEqual(reports, ['b1 pod_started p-1', 'b1 pod_deleted p-1']);
  });

  it('does not report about batches that have ended, but ends their sessions', async () => {
    const { watch, reports, ended, active } = watched();
    await watch.onList([pod(running)]);
    active.clear();
    await watch.onEvent('DELETED', pod(running));
    assert.deepEqual([reports, ended], [[], ['b1 p-1']]);
  });

  it('reports an unresponsive node once', async () => {
    const { watch, reports } = watched();
    await watch.onList([]);
    await watch.onEvent('MODIFIED', pod(running, { deleted: true }));
    await watch.checkStuck(performance.now() + 10_000);
    await watch.checkStuck(performance.now() + 60_000);
    await watch.checkStuck(performance.now() + 60_000);
    assert.deepEqual(reports, ['b1 pod_started p-1', 'b1 node_lost p-1']);
  });

  it('reports a lost node once for all pods of a batch there, with what to do', async () => {
    const { watch, reports } = watched();
    await watch.onList([]);
    for (const uid of ['1', '2']) await watch.onEvent('ADDED', pod(running, { uid }));
    await watch.onEvent('ADDED', pod(running, { uid: '3', node: 'n2' }));
    for (const uid of ['1', '2', '3'])
      watch.onClusterEvent(
        { ...event('Pod', 'NodeNotReady', 'Node is not ready'), involvedObject: { kind: 'Pod', uid } },
        () => undefined,
      );
    const ready = worker({ running: {} }, { conditions: [{ type: 'Ready', status: 'True' }] });
    await watch.onEvent('ADDED', pod(ready, { uid: '4', node: 'n3' }));
    watch.onClusterEvent(
      { ...event('Pod', 'NodeNotReady', 'Node is not ready'), involvedObject: { kind: 'Pod', uid: '4' } },
      () => undefined,
    );
    await watch.checkStuck();
    assert.ok(!reports.some((line) => line.includes('node_lost')), 'not before it has been so for a while');
    await watch.checkStuck(performance.now() + 10_000);
    await watch.onEvent('MODIFIED', pod(running, { uid: '1', deleted: true }));
    await watch.checkStuck(performance.now() + 60_000);
    assert.deepEqual(
      reports.filter((line) => line.includes('node_lost')),
      ['b1 node_lost ', 'b1 node_lost '],
    );
    assert.match(
      lostNode(pod()).infra.text,
      /^Node n1 does not respond\..* kubectl delete node n1, .* kubectl taint node n1 \S+\/out-of-service=/,
    );
  });

  it('does not take a node for lost whose worker responds, and reports it once that stops', async () => {
    const { watch, reports, working, queries } = watched();
    working.add('p-1').add('p-2');
    await watch.onList([]);
    for (const uid of ['1', '2']) {
      await watch.onEvent('ADDED', pod(running, { uid }));
      watch.onClusterEvent(
        { ...event('Pod', 'NodeNotReady', 'Node is not ready'), involvedObject: { kind: 'Pod', uid } },
        () => undefined,
      );
    }
    await watch.checkStuck(performance.now() + 10_000);
    await watch.checkStuck(performance.now() + 60_000);
    assert.ok(!reports.some((line) => line.includes('node_lost')));
    assert.deepEqual(queries, ['b1', 'b1'], 'once per check, however many pods there are');
    working.clear();
    await watch.checkStuck(performance.now() + 60_000);
    assert.deepEqual(
      reports.filter((line) => line.includes('node_lost')),
      ['b1 node_lost '],
    );
  });

  it('finds a Job’s batch by its name', () => {
    const { watch, reports } = watched();
    for (const name of ['rollout-b1-1', 'rollout-b2-1', 'rollout-b1-1'])
      watch.onClusterEvent(
        { ...event('Job', 'FailedCreate', 'exceeded quota: q'), involvedObject: { kind: 'Job', name } },
        (of) => (of === 'rollout-b1-1' ? 'b1' : undefined),
      );
    assert.deepEqual(reports, ['b1 quota ']);
  });
});
