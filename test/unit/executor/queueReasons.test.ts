import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueueReasons } from '../../../src/executor/kubernetes/queueReasons.ts';
import { type KubeEvent, readObject } from '../../../src/kubernetes/access/objects.ts';

const event = (reason: string, message: string, kind = 'Workload', name = 'job-rollout-b1-1-a211e'): KubeEvent =>
  readObject('Event', {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'e', namespace: 'n' },
    involvedObject: { kind, name },
    reason,
    message,
  });

test('the newest event of a Workload says why its Job waits, until it is admitted', () => {
  const reasons = new QueueReasons();
  for (const [reason, message] of [
    ['Pending', 'insufficient unused quota for cpu in flavor default, 480m more needed'],
    ['EvictedDueToClusterQueueStopped', 'The ClusterQueue is stopped'],
    ['Preempted', 'Preempted to accommodate a workload'],
  ] as const) {
    assert.equal(reasons.read(event(reason, message)), 'rollout-b1-1');
    assert.equal(reasons.of('rollout-b1-1'), message);
  }
  assert.equal(reasons.read(event('Admitted', 'Admitted by ClusterQueue research')), 'rollout-b1-1');
  assert.equal(reasons.of('rollout-b1-1'), undefined);
});

test('other events say nothing', () => {
  const reasons = new QueueReasons();
  for (const other of [
    event('Pending', 'no node', 'Pod'),
    event('Pending', 'no quota', 'Workload', 'job-other-a211e'),
    event('PodsReady', 'All pods are ready'),
    event('Pending', ''),
  ])
    assert.equal(reasons.read(other), undefined);
  assert.equal(reasons.of('rollout-b1-1'), undefined);
});
