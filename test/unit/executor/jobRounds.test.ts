import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Submission } from '../../../src/config/submission.ts';
import { type JobState, nextRound, type Round, readRound } from '../../../src/executor/kubernetes/jobRounds.ts';
import { podSizing } from '../../../src/executor/kubernetes/sizing.ts';
import type { Job } from '../../../src/kubernetes/access/objects.ts';

function round(changes: Partial<Round> = {}): Round {
  return {
    name: 'rollout-b1-1',
    pods: 1,
    parallelism: 1,
    completions: 1,
    generation: 1,
    uid: 'u',
    round: 1,
    state: 'complete',
    suspended: false,
    released: false,
    reason: '',
    message: '',
    tls: false,
    single: false,
    slots: 4,
    settled: 0,
    fruitless: 0,
    ...changes,
  };
}

function next(rounds: Round[], changes: Partial<JobState> = {}): ReturnType<typeof nextRound> {
  return nextRound({
    rounds,
    last: Math.max(0, ...rounds.map((one) => one.round)),
    ignoredRounds: 0,
    queued: 3,
    settled: 5,
    retries: 2,
    ...changes,
  });
}

describe('nextRound', () => {
  it('creates the first Job, but not next to an active one and not without work', () => {
    assert.deepEqual(next([]), { do: 'create', round: 1, fruitless: 0, afterMs: 0 });
    assert.deepEqual(next([round({ state: 'active' })]), { do: 'wait' });
    assert.deepEqual(next([], { queued: 0 }), { do: 'wait' });
  });

  it('continues immediately while attempts are settled', () => {
    assert.deepEqual(next([round({ settled: 4, fruitless: 2 })]), { do: 'create', round: 2, fruitless: 0, afterMs: 0 });
    assert.deepEqual(next([], { last: 4 }), { do: 'create', round: 5, fruitless: 0, afterMs: 0 });
  });

  it('waits longer after each Job that settled none, and gives up', () => {
    const failed = { state: 'failed', settled: 5, reason: 'FailedIndexes', message: 'Job has failed indexes' } as const;
    assert.deepEqual(next([round(failed)]), { do: 'create', round: 2, fruitless: 1, afterMs: 1000 });
    assert.deepEqual(next([round(), round({ ...failed, round: 2, fruitless: 1 })]), {
      do: 'create',
      round: 3,
      fruitless: 2,
      afterMs: 2000,
    });
    assert.deepEqual(next([round({ ...failed, round: 3, fruitless: 2, name: 'rollout-b1-3' })]), {
      do: 'give_up',
      reason:
        'The pods of the batch ended 3 times without settling an attempt. Last Job, ' +
        'rollout-b1-3: Job has failed indexes.',
    });
  });

  it('gives up immediately at a wrong configuration, unless the batch was resumed since', () => {
    const wrong = round({
      state: 'failed',
      reason: 'PodFailurePolicy',
      message: 'Container worker failed with exit code 2',
      settled: 0,
    });
    assert.deepEqual(next([wrong]), {
      do: 'give_up',
      reason: 'The pods of the batch cannot run: Container worker failed with exit code 2.',
    });
    assert.deepEqual(next([wrong], { ignoredRounds: 1 }), { do: 'create', round: 2, fruitless: 0, afterMs: 0 });
  });
});

describe('readRound', () => {
  const job = (changes: Partial<Job>): Job => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'rollout-b1-12',
      uid: 'u',
      annotations: {
        'rollout-studio/batch-id': 'b1',
        'rollout-studio/settled': '3',
        'rollout-studio/fruitless': '1',
        'rollout-studio/slots': '9',
      },
    },
    ...changes,
  });
  it('reads the state of a Job', () => {
    const {
      state,
      suspended,
      round: number,
      settled,
      fruitless,
      slots,
    } = readRound(job({ spec: { suspend: true, template: {} } })) ?? round();
    assert.deepEqual(
      { state, suspended, number, settled, fruitless, slots },
      { state: 'active', suspended: true, number: 12, settled: 3, fruitless: 1, slots: 9 },
    );
    assert.equal(
      readRound(job({ status: { conditions: [{ type: 'SuccessCriteriaMet', status: 'True' }] } }))?.state,
      'active',
    );
    assert.equal(readRound(job({ status: { conditions: [{ type: 'Complete', status: 'True' }] } }))?.state, 'complete');
    assert.equal(
      readRound(job({ status: { conditions: [{ type: 'Failed', status: 'True', reason: 'FailedIndexes' }] } }))?.reason,
      'FailedIndexes',
    );
    assert.equal(readRound(job({ metadata: { name: 'other-1', uid: 'u' } })), undefined);
  });
});

describe('podSizing', () => {
  const size = (pods: Submission['pods'], concurrency: number | 'auto', open: number, sealed = true): number[] => {
    const { completions, parallelism, slots } = podSizing({ pods, concurrency }, open, sealed);
    return [completions, parallelism, slots];
  };
  it('divides the work among pods', () => {
    assert.deepEqual(size({ count: 8 }, 'auto', 64), [8, 8, 8]);
    assert.deepEqual(size({ count: 2 }, 'auto', 1000), [2, 2, 32]);
    assert.deepEqual(size({ count: 2 }, 100, 1000), [2, 2, 50]);
    assert.deepEqual(size(undefined, 'auto', 40), [2, 2, 20]);
    assert.deepEqual(size(undefined, 'auto', 100_000), [16, 16, 32]);
    assert.deepEqual(size({ count: 4 }, 'auto', 1), [4, 4, 1]);
  });
  it('expects more while tasks still arrive', () => {
    assert.deepEqual(size({ count: 4 }, 'auto', 4, false), [4, 4, 32]);
    assert.deepEqual(size({ count: 4 }, 12, 1, false), [4, 4, 3]);
  });
  it('gives each rollout its own pod where they are to be isolated', () => {
    assert.deepEqual(size({ isolation: 'pod', count: 4 }, 'auto', 12), [12, 4, 1]);
    assert.deepEqual(size({ isolation: 'pod' }, 3, 40), [40, 3, 1]);
    assert.deepEqual(size({ isolation: 'pod', count: 4 }, 'auto', 2), [2, 2, 1]);
  });
});
