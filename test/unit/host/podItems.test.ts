import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BatchPods } from '../../../src/client/batchPods.ts';
import { podsText } from '../../../src/client/text/pods.ts';
import { podText } from '../../../src/host/pods/podItems.ts';
import { podChildren, podNodeId, podRow } from '../../../src/host/views/batches/podNodes.ts';
import type { PodInfo } from '../../../src/protocol/pods.ts';

const pod: PodInfo = {
  name: 'p1',
  kind: 'pod',
  state: 'starting',
  reason: 'ImagePullBackOff',
  text: 'Cannot pull image i:1',
  node: 'n1',
  ready: false,
  restarts: 0,
  log: true,
  created_at: 0,
  containers: [
    { name: 'worker', image: 'i:1', state: 'waiting', ready: false, restarts: 0, reason: 'ImagePullBackOff' },
    { name: 'prepare', image: 'i:1', state: 'ended', ready: false, restarts: 0, exit_code: 0 },
  ],
  events: [{ at: 0, warning: true, reason: 'Failed', text: 'no such image', count: 3 }],
  rollouts: [{ rollout: 'r1', task: 't1', attempt: 2, held: false }],
};
const pods: BatchPods = {
  pods: [pod],
  gone: [{ name: 'p0', kind: 'pod', node: 'n0', records: [{ at: 0, what: 'pod_oom', text: 'Pod p0 was killed.' }] }],
};

describe('the pods of a batch', () => {
  it('are items with state, node, and reason; below them containers, and the rollouts there', () => {
    const root = { kind: 'pods', batch: 'b' } as const;
    assert.deepEqual(
      [podRow(root, pods)?.content.label, podRow(root, pods)?.content.description],
      ['Pods', '1 starting · 1 gone'],
    );
    assert.equal(podRow(root, undefined)?.content.description, '', 'before they were read');
    const [first, gone] = podChildren(root, pods);
    assert.ok(first !== undefined && gone !== undefined);
    assert.equal(podRow(first, pods)?.content.description, 'starting: ImagePullBackOff · n1 · 1 rollout');
    assert.equal(podRow(first, pods)?.content.context, 'pod.pod.log');
    assert.equal(podRow(gone, pods)?.content.description, 'gone · n0 · Pod p0 was killed.');
    const below = podChildren(first, pods);
    assert.deepEqual(
      below.map((node) => [podRow(node, pods)?.content.label, podRow(node, pods)?.opens]),
      [
        ['worker', undefined],
        ['prepare', undefined],
        ['t1 · attempt 2', 'r1'],
      ],
    );
    const ids = [root, first, gone, ...below].map(podNodeId);
    assert.equal(new Set(ids).size, ids.length);
    assert.equal(podRow(first, { pods: [], gone: [] }), undefined, 'a pod that is not known any more');
  });

  it('of this machine are workers', () => {
    const local: BatchPods = { pods: [{ ...pod, kind: 'process', state: 'running', log: false }], gone: [] };
    const content = podRow({ kind: 'pods', batch: 'b' }, local)?.content;
    assert.equal(content?.label, 'Workers');
    assert.equal(podRow({ kind: 'pod', batch: 'b', pod: 'p1' }, local)?.content.context, 'pod.process', 'no log');
  });

  it('have a text with their events, and what was recorded', () => {
    const text = podText(pod, { name: 'p1', records: [] }, 5_000);
    assert.match(text, /^p1: starting: ImagePullBackOff\nCannot pull image i:1\n/);
    assert.match(text, /Warning {2}Failed \(3 times\): no such image/);
    assert.match(text, /Rollouts {2}t1\/2/);
    assert.match(
      podText(undefined, pods.gone[0]!, 0),
      /^p0: gone\n\nRecorded with the batch\n.*Pod p0 was killed\.\n$/,
    );
  });

  it('are a table on the command line', () => {
    const lines = podsText(pods, 61_000).split('\n');
    assert.match(lines[1] ?? '', /^p1 +starting: ImagePullBackOff +0\/1 +0 +n1 +1 +1 m/);
    assert.equal(lines[3], 'Cannot pull image i:1.');
    assert.equal(lines.at(-1), '  p0  Pod p0 was killed.');
    assert.equal(podsText({ pods: [], gone: [], text: 'None runs.' }, 0), 'None runs.');
  });
});
