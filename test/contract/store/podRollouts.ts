import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Store } from '../../../src/store/store.ts';
import { finish, newSession, openBatch } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

/** Opens a session, and returns how to lease with it as a pod. */
async function enroll(store: Store, batch: string, worker: string) {
  const opened = newSession(batch, { worker });
  const { session } = opened;
  await store.openSession(opened);
  return {
    session,
    lease: async (pod: string, want = 1) => store.lease(session, want, pod),
    end: () => store.endSession(session, 'gone'),
  };
}

export function podRolloutTests(subject: Subject): void {
  describe('pods that get a single rollout', () => {
    it('get one, however many they request, and no other after its end, also not from another server', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch } = await openBatch(store, 4, { attempts: 1 });
      assert.equal(await store.podRollout(batch, 'uid-a'), undefined);
      const first = await enroll(store, batch, 'a');
      const [lease, ...more] = await first.lease('uid-a', 10);
      assert.deepEqual([lease?.task.id, more], ['t0', []]);
      assert.deepEqual(await first.lease('uid-a', 10), [], 'it runs');
      assert.equal(await other.podRollout(batch, 'uid-a'), lease?.rollout);
      await finish(store, batch, lease!);
      assert.deepEqual(await first.lease('uid-a'), [], 'it has ended');
      await first.end();
      for (const at of [store, other]) {
        const again = await enroll(at, batch, 'a');
        assert.deepEqual(await again.lease('uid-a'), []);
        await again.end();
      }
      const second = await enroll(other, batch, 'b');
      assert.deepEqual(
        (await second.lease('uid-b')).map(({ task }) => task.id),
        ['t1'],
      );
    });

    it('get theirs again while it waits, and leave it to the pod that took it over', async () => {
      const store = subject.store();
      const { batch } = await openBatch(store, 3, { attempts: 1 });
      const lost = await enroll(store, batch, 'a');
      const [lease] = await lost.lease('uid-a');
      await lost.end();
      const back = await enroll(subject.other(), batch, 'a');
      const [again] = await back.lease('uid-a');
      assert.deepEqual([again?.rollout, again?.epoch], [lease!.rollout, 2]);
      await back.end();
      // A pod that replaces it is another one. Both request at once.
      const [replacement, returned] = [await enroll(store, batch, 'a2'), await enroll(store, batch, 'a')];
      const [taken, none] = await Promise.all([replacement.lease('uid-a2'), returned.lease('uid-a')]);
      const got = [...taken, ...none];
      assert.equal(got.filter(({ rollout }) => rollout === lease!.rollout).length, 1);
      assert.ok(none.every(({ rollout }) => rollout === lease!.rollout));
      assert.equal(new Set(got.map(({ rollout }) => rollout)).size, got.length);
      // Without the rollout of the first pod, it gets none.
      for (const one of [replacement, returned]) await one.end();
      const all = await enroll(store, batch, 'c');
      assert.equal((await store.lease(all.session, 10)).length, 3);
      const late = await enroll(store, batch, 'a');
      assert.deepEqual(await late.lease('uid-a'), []);
    });

    it('do not get the next try after a failure of the infrastructure', async () => {
      const store = subject.store();
      const { batch } = await openBatch(store, 1, { attempts: 1, retries: 1 });
      const first = await enroll(store, batch, 'a');
      const [lease] = await first.lease('uid-a');
      await finish(store, batch, lease!, { status: 'infrastructure', passed: null, reward: null });
      assert.deepEqual(await first.lease('uid-a'), []);
      const second = await enroll(store, batch, 'b');
      assert.deepEqual(
        (await second.lease('uid-b')).map(({ try: number }) => number),
        [2],
      );
    });

    it('get one if two sessions request at once, at two servers', async () => {
      const { batch } = await openBatch(subject.store(), 4, { attempts: 1 });
      const both = [await enroll(subject.store(), batch, 'a'), await enroll(subject.other(), batch, 'b')];
      const got = await Promise.all(both.map(({ lease }) => lease('uid-a', 2)));
      assert.equal(got.flat().length, 1);
    });

    it('get one of each batch, and others in the same transaction as many as they request', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 6, { attempts: 1 });
      const pods = [await enroll(store, batch, 'a'), await enroll(store, batch, 'b')];
      const [a, shared, b] = await Promise.all([
        pods[0]!.lease('uid-a', 3),
        store.lease(session, 3),
        pods[1]!.lease('uid-b', 3),
      ]);
      assert.deepEqual([a.length, shared.length, b.length], [1, 3, 1]);
      assert.equal(new Set([...a, ...shared, ...b].map(({ rollout }) => rollout)).size, 5);
      const elsewhere = await openBatch(store, 1, { attempts: 1 });
      const other = await enroll(store, elsewhere.batch, 'a');
      assert.equal((await other.lease('uid-a')).length, 1);
    });
  });
}
