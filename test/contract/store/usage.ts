import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodUse } from '../../../src/store/usageStore.ts';
import { newBatch } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

const STRANGE = 'o\'hara "*" \0 ümläut';
const MINUTE = 60_000;

function pod(uid: string, some: Partial<PodUse>): PodUse {
  return {
    ...{ uid, batch: 'b1', queue: '', user: 'ann', model: 'm', from: 1_000_000, until: 1_000_000, cpus: 1, gpus: 0 },
    ...some,
  };
}

export function usageTests(subject: Subject): void {
  describe('usage', () => {
    it('adds up tokens by minute and owner, of all servers, and forgets old ones', async () => {
      const store = await subject.fresh();
      const now = await store.now();
      const add = (user: string, tokens: number, at = now, queue = ''): Promise<void> =>
        store.usage.addTokens([{ at, queue, user, tokens }]);
      await store.usage.addTokens([]);
      await Promise.all([add(STRANGE, 10), add(STRANGE, 5), add('', 7), add('ann', 3, now, 'research')]);
      await add(STRANGE, 100, now - 30 * MINUTE);
      await add('ann', 1, now - 2 * 24 * 60 * MINUTE);
      assert.deepEqual(await store.usage.tokensSince(now - 5 * MINUTE), [
        { queue: '', user: '', tokens: 7 },
        { queue: '', user: STRANGE, tokens: 15 },
        { queue: 'research', user: 'ann', tokens: 3 },
      ]);
      const hour = await store.usage.tokensSince(now - 60 * MINUTE);
      assert.equal(hour.find(({ user }) => user === STRANGE)?.tokens, 115);
      const all = await store.usage.tokensSince(0);
      assert.equal(all.find(({ user, queue }) => user === 'ann' && queue === '')?.tokens, undefined, 'it is forgotten');
    });

    it('knows how long pods ran, whoever records it, and never less', async () => {
      const store = await subject.fresh();
      const at = 1_000_000;
      await store.usage.recordPods([
        pod('p1', { until: at + 10_000, cpus: 0.25 }),
        pod('p2', { until: at + 4_000, gpus: 8, user: STRANGE, queue: 'research' }),
      ]);
      await store.usage.recordPods([pod('p1', { until: at + 40_000, cpus: 9 })]);
      await store.usage.recordPods([pod('p1', { until: at + 20_000 }), pod('p3', { batch: 'b2', until: at - 5 })]);
      const p1 = { queue: '', user: 'ann', model: 'm', cpuSeconds: 10, gpuSeconds: 0 };
      const p2 = { queue: 'research', user: STRANGE, model: 'm', cpuSeconds: 4, gpuSeconds: 32 };
      assert.deepEqual(await store.usage.podTotals(), [p1, p2]);
      assert.deepEqual(await store.usage.podTotals({ batch: 'b1' }), [p1, p2]);
      assert.deepEqual(await store.usage.podTotals({ batch: 'none' }), []);
      // Only what lies after a time.
      assert.deepEqual(await store.usage.podTotals({ since: at + 36_000 }), [{ ...p1, cpuSeconds: 1 }]);
    });

    it('keeps the sums of batches that are removed', async () => {
      const store = await subject.fresh();
      const batches = [newBatch({ by: 'ann' }), newBatch({ by: 'ann' })];
      for (const [index, batch] of batches.entries()) {
        await store.createBatch(batch);
        await store.seal(batch.id);
        await store.usage.recordPods([
          pod(`p${index}`, { batch: batch.id, until: 1_010_000, gpus: 1, cpus: 0.5 }),
          pod(`q${index}`, { batch: batch.id, until: 1_001_000, gpus: 0, cpus: 2, model: 'other' }),
        ]);
      }
      const before = await store.usage.podTotals();
      assert.equal(before[0]?.gpuSeconds, 20);
      for (const { id } of batches) {
        await store.gc({ batches: [id], dryRun: false });
        assert.deepEqual(await store.usage.podTotals(), before);
      }
      assert.deepEqual(await store.usage.podTotals({ since: 1_000_000 }), []);
    });
  });
}
