import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Lease, Store } from '../../../src/store/store.ts';
import { type Ending, finish, newSession, openBatch } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

const LOST: Ending = { status: 'infrastructure', passed: null, reward: null };

async function counts(store: Store, batch: string): Promise<string> {
  const { row } = (await store.batch(batch))!;
  const all = Object.entries(row.counts).filter(([, n]) => n > 0);
  const { rollouts } = await store.rollouts(batch, { limit: 500 });
  assert.equal(
    all.reduce((sum, [, n]) => sum + n, 0),
    new Set(rollouts.map(({ task, attempt }) => `${task}/${attempt}`)).size,
    'every attempt is counted once',
  );
  return `${row.state}: ${all.map(([name, n]) => `${n} ${name}`).join(', ')}`;
}

/** Ends the attempts that are leased, in order. Returns their numbers. */
async function run(store: Store, batch: string, session: string, endings: readonly Ending[]): Promise<number[]> {
  const leases: Lease[] = await store.lease(session, 50);
  assert.equal(leases.length, endings.length);
  for (const [index, lease] of leases.entries()) await finish(store, batch, lease, endings[index]);
  return leases.map(({ attempt }) => attempt);
}

export function adaptiveTests(subject: Subject): void {
  describe('attempts until a task is informative or solved', () => {
    it('are added in waves while all have the same outcome, and never more than the most', async () => {
      const store = subject.store();
      const adaptive = { least: 2, until: 'informative' } as const;
      const { batch, session } = await openBatch(store, 1, { attempts: 4, adaptive });
      assert.equal(await counts(store, batch), 'running: 2 queued');
      assert.deepEqual(await run(store, batch, session, [{}, {}]), [1, 2]);
      assert.equal(await counts(store, batch), 'running: 2 passed, 1 queued');
      assert.deepEqual(await run(store, batch, session, [{ passed: null, reward: null }]), [3]);
      assert.deepEqual(await run(store, batch, session, [{}]), [4]);
      assert.equal(await counts(store, batch), 'ended: 3 passed, 1 unscored');
    });

    it('end with both outcomes, or with a pass', async () => {
      const store = subject.store();
      for (const [until, expected] of [
        ['informative', 'ended: 1 passed, 3 failed'],
        ['solved', 'ended: 1 passed, 3 failed'],
      ] as const) {
        const { batch, session } = await openBatch(store, 1, { attempts: 9, adaptive: { least: 2, until } });
        const fails: Ending = { passed: false, reward: 0 };
        await run(store, batch, session, [fails, fails]);
        await run(store, batch, session, [fails]);
        await run(store, batch, session, [{}]);
        assert.equal(await counts(store, batch), expected);
      }
      const solved = await openBatch(store, 1, { attempts: 9, adaptive: { least: 2, until: 'solved' } });
      await run(store, solved.batch, solved.session, [{}, {}]);
      assert.equal(await counts(store, solved.batch), 'ended: 2 passed');
    });

    it('are added by task, through any server, and only when all of the task have ended', async () => {
      const store = subject.store();
      const adaptive = { least: 2, until: 'informative' } as const;
      const { batch, session } = await openBatch(store, 2, { attempts: 3, adaptive });
      const other = newSession(batch, { worker: 'worker-2' });
      await subject.other().openSession(other);
      const mine = await store.lease(session, 2); // the first attempt of each task
      const theirs = await subject.other().lease(other.session, 2);
      for (const lease of mine) await finish(store, batch, lease);
      assert.equal(await counts(store, batch), 'running: 2 passed, 2 running');
      await Promise.all(
        theirs.map((lease, index) =>
          finish(index === 0 ? store : subject.other(), batch, lease, index === 0 ? {} : { passed: false, reward: 0 }),
        ),
      );
      assert.equal(await counts(store, batch), 'running: 3 passed, 1 failed, 1 queued');
      const [last] = await subject.other().lease(other.session, 5);
      assert.deepEqual([last?.task.id, last?.attempt], ['t0', 3]);
      await finish(subject.other(), batch, last!, { passed: false, reward: 0 });
      assert.equal(await counts(store, batch), 'ended: 3 passed, 2 failed');
    });

    it('replace those that infrastructure took, which do not count', async () => {
      const store = subject.store();
      const adaptive = { least: 2, until: 'informative' } as const;
      const { batch, session } = await openBatch(store, 1, { attempts: 2, retries: 0, adaptive });
      await run(store, batch, session, [LOST, {}]);
      assert.equal(await counts(store, batch), 'running: 1 passed, 1 infrastructure, 1 queued');
      assert.deepEqual(await run(store, batch, session, [LOST]), [3]);
      const [again] = await store.lease(session, 5);
      assert.deepEqual([again!.attempt, again!.place], [4, 1], 'they take the place of the first one that was lost');
      await finish(store, batch, again!, {});
      assert.equal(await counts(store, batch), 'ended: 2 passed, 2 infrastructure');
    });

    it('are not added when the batch stops', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1, { attempts: 9, adaptive: { least: 1, until: 'solved' } });
      const [lease] = await store.lease(session, 1);
      await store.stop(batch, 'enough');
      await finish(store, batch, lease!, { passed: false, reward: 0 });
      assert.equal(await counts(store, batch), 'ended: 1 failed');
    });
  });
}
