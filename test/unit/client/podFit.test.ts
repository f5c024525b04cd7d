import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type LaunchedBatch, launchReview, withShortage } from '../../../src/client/launchReview.ts';
import { batchShortage, largestAmounts, podShortage, saysResources } from '../../../src/client/podFit.ts';
import { nodesFinding } from '../../../src/client/targets/status/resources.ts';
import { reviewChoices } from '../../../src/host/launch/reviewChoices.ts';
import type { Node } from '../../../src/kubernetes/access/objects.ts';

const node = (
  allocatable: Record<string, string>,
  labels: Record<string, string> = {},
  unschedulable = false,
): Node => ({
  ...{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', labels } },
  ...{ spec: { unschedulable }, status: { allocatable } },
});
const nodes = [
  node({ cpu: '7500m', memory: '30Gi', 'ephemeral-storage': '90Gi' }),
  node({ cpu: '4', memory: '62Gi', 'nvidia.com/gpu': '2' }, { pool: 'gpu' }),
  node({ cpu: '96', memory: '900Gi' }, {}, true),
];

describe('the pods of a batch', () => {
  const shortage = (pods: Parameters<typeof podShortage>[0], selector?: Record<string, string>): string | undefined =>
    podShortage(pods, 4, largestAmounts(nodes, selector) ?? {});

  test('fit if some node has as much of each resource', () => {
    assert.equal(shortage({}), undefined);
    assert.equal(shortage({ requests: { cpu: '7', memory: '60Gi' }, limits: { 'nvidia.com/gpu': '2' } }), undefined);
  });

  test('do not if none has, including those of the worker next to the tools', () => {
    assert.equal(
      shortage({ requests: { cpu: '16' } }),
      'A pod of this batch requests 16.05 CPUs, but the largest node has 7.5 CPUs.',
    );
    assert.match(shortage({ requests: { cpu: '7500m' } }) ?? '', /requests 7\.55 CPUs/);
    assert.match(shortage({ limits: { memory: '64Gi' } }) ?? '', /but the largest node has 66\.6 GB of memory\.$/);
    assert.match(shortage({ requests: { cpu: '5' } }, { pool: 'gpu' }) ?? '', /the largest node has 4 CPUs/);
    assert.match(
      shortage({ limits: { 'nvidia.com/gpu': '4' } }) ?? '',
      /4 nvidia\.com\/gpu, but the largest node has 2/,
    );
    assert.match(shortage({ limits: { 'amd.com/gpu': '1' } }) ?? '', /1 amd\.com\/gpu, but no node has any\.$/);
  });

  test('are compared only if the batch says what they request, and nodes are there', () => {
    assert.deepEqual([undefined, {}, { requests: {} }, { limits: {} }].map(saysResources), [false, false, true, true]);
    assert.equal(largestAmounts(nodes, { pool: 'none' }), undefined);
    const shortOf = (attempts: number): string | undefined =>
      batchShortage(
        { pods: { limits: { 'amd.com/gpu': '1' } }, concurrency: 'auto' },
        attempts,
        largestAmounts(nodes) ?? {},
      );
    assert.match(shortOf(32) ?? '', /no node has any/);
    assert.deepEqual(nodesFinding(nodes).data?.['largest'], {
      ...{ cpu: 7.5, memory: 62 * 2 ** 30, 'ephemeral-storage': 90 * 2 ** 30, 'nvidia.com/gpu': 2 },
    });
  });

  test('are in the review of a launch', () => {
    const text = shortage({ requests: { cpu: '16' } }) ?? '';
    const batch: LaunchedBatch = {
      ...{ attempts: 8, queue: undefined, priority: 0, pods: undefined, tokens: undefined },
      concurrency: 'auto',
    };
    const alone = launchReview({ rows: [], waiting: [], queues: [] }, batch);
    assert.equal(alone, undefined);
    const review = withShortage(alone, text);
    assert.deepEqual([review.waits, review.matters], [true, true]);
    const facts = { tasks: 2, complete: true, attempts: 4 };
    const choices = reviewChoices(review, { facts, answers: { tasks: { kind: 'all' } }, target: 'gpus' });
    assert.deepEqual(
      choices.map(({ label, description, detail, icon }) => [label, detail ?? description, icon]),
      [
        ['Launch 8 attempts on gpus', 'Waits until a node is added that its pods fit on', 'watch'],
        ['Nodes', text, 'warning'],
      ],
    );
  });
});
