/** Why a server in a cluster is not ready yet. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContainerStatus, Deployment, Pod } from '../../../../src/kubernetes/access/objects.ts';
import { findObstacle, isReady, readLogEnd } from '../../../../src/kubernetes/install/ready.ts';
import type { Partially } from '../../../support/partially.ts';

type Status = NonNullable<Deployment['status']>;
type PodStatus = Partially<NonNullable<Pod['status']>>;

function deployment(status: Status, generation = 2): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'rollout-studio', generation },
    spec: { replicas: 1, selector: {}, template: {} },
    status,
  };
}

function pod(status: PodStatus, more: Partial<Pod['metadata']> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', creationTimestamp: '2026-01-01T00:00:00Z', ...more },
    status,
  } as Pod;
}

function container(state: NonNullable<ContainerStatus['state']>, lastState: ContainerStatus['lastState'] = {}): Pod {
  return pod({ phase: 'Pending', containerStatuses: [{ name: 'server', image: 'node:24-slim', state, lastState }] });
}

const DONE: Status = { observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };

test('a server is ready when only its newest version serves', () => {
  assert.equal(isReady(deployment(DONE)), true);
  for (const not of [{ observedGeneration: 1 }, { updatedReplicas: 0 }, { availableReplicas: 0 }, { replicas: 2 }])
    assert.equal(isReady(deployment({ ...DONE, ...not })), false, JSON.stringify(not));
  assert.equal(isReady(deployment({})), false);
});

describe('an obstacle is reported', () => {
  const cases: readonly (readonly [string, Status, readonly Pod[], RegExp, string])[] = [
    [
      'a short quota',
      {
        conditions: [
          {
            type: 'ReplicaFailure',
            status: 'True',
            reason: 'FailedCreate',
            message: 'pods "x" is forbidden: exceeded quota: small',
          },
        ],
      },
      [],
      /creates no pod: .*exceeded quota/,
      'patience',
    ],
    [
      'an old pod that ends',
      {},
      [pod({ phase: 'Running' }, { deletionTimestamp: '2026-01-01T00:00:01Z' })],
      /old pod is shutting down/,
      'wait',
    ],
    [
      'no node',
      {},
      [
        pod({
          phase: 'Pending',
          conditions: [
            { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes are available' },
          ],
        }),
      ],
      /No node accepts .*0\/1 nodes/,
      'wait',
    ],
    [
      'an image that cannot be pulled, once',
      {},
      [container({ waiting: { reason: 'ErrImagePull', message: 'refused' } })],
      /Cannot pull the image node:24-slim: refused/,
      'patience',
    ],
    [
      'an image that cannot be pulled, again',
      {},
      [container({ waiting: { reason: 'ImagePullBackOff', message: 'Back-off' } })],
      /Cannot pull the image/,
      'stuck',
    ],
    [
      'a missing Secret',
      {},
      [container({ waiting: { reason: 'CreateContainerConfigError', message: 'secret "db" not found' } })],
      /cannot start: secret "db" not found/,
      'patience',
    ],
    [
      'a crash',
      {},
      [container({ waiting: { reason: 'CrashLoopBackOff' } }, { terminated: { exitCode: 3 } })],
      /exit code 3/,
      'stuck',
    ],
    [
      'too little memory',
      {},
      [container({ terminated: { exitCode: 137, reason: 'OOMKilled' } })],
      /out of memory/,
      'patience',
    ],
    [
      'a start',
      {},
      [pod({ phase: 'Running', containerStatuses: [{ name: 'server', state: { running: {} } }] })],
      /is starting/,
      'wait',
    ],
    [
      'an unresponsive node',
      {},
      [
        {
          ...pod({
            phase: 'Running',
            conditions: [
              { type: 'Ready', status: 'False' },
              { type: 'ContainersReady', status: 'True' },
            ],
          }),
          spec: { nodeName: 'n7', containers: [] },
        },
      ],
      /Node n7, .*does not respond/,
      'wait',
    ],
  ];
  for (const [name, status, pods, text, hope] of cases) {
    test(name, () => {
      const found = findObstacle(deployment(status), pods);
      assert.match(found.text, text);
      assert.equal(found.outlook, hope);
    });
  }

  test('for the newest version, whatever was wrong with the previous one', () => {
    const newest = deployment({});
    const annotations = { 'rollout-studio/version': 'new' };
    const spec = { replicas: 1, template: { metadata: { annotations } }, selector: {} };
    const broken = container({ waiting: { reason: 'ImagePullBackOff' } });
    assert.equal(findObstacle({ ...newest, spec }, [broken]).outlook, 'wait');
    assert.equal(
      findObstacle({ ...newest, spec }, [{ ...broken, metadata: { ...broken.metadata, annotations } }]).outlook,
      'stuck',
    );
  });

  test('for the newest pod', () => {
    const old = pod({ phase: 'Running' }, { name: 'old' });
    const young = {
      ...container({ waiting: { reason: 'ImagePullBackOff' } }),
      metadata: { name: 'young', creationTimestamp: '2026-01-02T00:00:00Z' },
    };
    assert.equal(findObstacle(deployment({}), [old, young]).outlook, 'stuck');
  });
});

test('the end of a log is the reason that the server reports, or else all of it', () => {
  const failed = JSON.stringify({ type: 'failed', code: 'storage', message: 'The disk is full.', hint: 'Free some.' });
  assert.deepEqual(readLogEnd(`2026 something\n${failed}\n`), { text: 'The disk is full.', hint: 'Free some.' });
  assert.deepEqual(readLogEnd('one\n\n  two\n'), { text: 'one / two' });
  assert.deepEqual(readLogEnd('{"time":"2026","level":"info","message":"It listens."}\nKilled\n'), {
    text: 'It listens. / Killed',
  });
  assert.equal(readLogEnd('\n'), undefined);
});
