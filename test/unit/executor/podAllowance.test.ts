import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchJob } from '../../../src/executor/kubernetes/jobManifest.ts';
import { allowedPods } from '../../../src/executor/kubernetes/podAllowance.ts';
import { Rounds } from '../../../src/executor/kubernetes/rounds.ts';
import { grown } from '../../../src/executor/kubernetes/sizing.ts';
import { readObject } from '../../../src/kubernetes/access/objects.ts';

const LIMIT = 4;

/** All batches are of one user, who may have four pods. */
function allowed(of: {
  batches: Record<string, [has: number, wants: number]>;
  live?: Record<string, number>;
  jobs?: readonly string[];
  ended?: readonly string[];
}): number | undefined {
  const rounds = new Rounds();
  for (const batch of of.jobs ?? [])
    rounds.see(
      readObject('Job', {
        ...batchJob({
          ...{ batch, round: 1, namespace: 'n', image: 'i', pods: {}, pullPolicy: undefined },
          ...{ settled: 0, fruitless: 0, sizing: { completions: 1, parallelism: 1, slots: 1 } },
        }),
        metadata: { name: `rollout-${batch}-1`, uid: batch, annotations: { 'rollout-studio/batch-id': batch } },
      }),
    );
  return allowedPods('b1', {
    shares: {
      localQueue: () => undefined,
      record: () => Promise.resolve(),
      allowed: (batch, pods) => {
        const all = [...pods.values()].reduce((sum, { has }) => sum + has, 0);
        const { has = 0, wants = 0 } = pods.get(batch) ?? {};
        return { pods: Math.min(wants, has + Math.max(0, LIMIT - all)), text: '' };
      },
    },
    batches: new Map(Object.entries(of.batches).map(([batch, [has, wants]]) => [batch, { pods: { has, wants } }])),
    live: new Map(Object.entries(of.live ?? {})),
    rounds,
    hasEnded: (batch) => of.ended?.includes(batch) === true,
  })?.pods;
}

describe('the pods that a batch may have', () => {
  it('are what others leave, and pods that are leaving count', () => {
    assert.equal(allowed({ batches: { b1: [0, 8] } }), 4);
    assert.equal(allowed({ batches: { b1: [1, 8], b2: [2, 2] } }), 2);
    assert.equal(allowed({ batches: { b1: [0, 8], b2: [0, 0] }, live: { b2: 3 } }), 1, 'b2 released its pods');
    assert.equal(allowed({ batches: { b1: [0, 8] }, live: { b1: 4 } }), 0, 'those of its previous Job');
    assert.equal(allowed({ batches: { b1: [2, 8] }, live: { b1: 3 } }), 3);
    assert.equal(allowed({ batches: { b1: [0, 8] }, live: { gone: 1 } }), 3);
  });

  it('do not grow while a batch is not read yet whose Job runs', () => {
    const batches: Record<string, [number, number]> = { b1: [1, 8] };
    assert.equal(allowed({ batches, jobs: ['b1', 'b2'] }), 1);
    assert.equal(allowed({ batches, jobs: ['b1', 'b2'], ended: ['b2'] }), 4);
    assert.equal(allowed({ batches, jobs: ['b1'] }), 4);
  });

  it('replace those of indexes that are done', () => {
    assert.deepEqual(grown({ completions: 4, parallelism: 4 }, 3, false), { completions: 7, parallelism: 7 });
    assert.deepEqual(grown({ completions: 4, parallelism: 1 }, 3, true), { completions: 4, parallelism: 4 });
    assert.equal(grown({ completions: 4, parallelism: 4 }, 3, true), undefined);
    assert.equal(grown({ completions: 4, parallelism: 4 }, 0, false), undefined);
  });
});
