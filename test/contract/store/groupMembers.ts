/** The rollouts of groups are added after the answer to their requests. Nobody notices. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GroupRequest } from '../../../src/store/groupStore.ts';
import type { Lease, Store } from '../../../src/store/store.ts';
import { newBatch, newSession, tasks } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

const REQUEST: GroupRequest = { task: 't0', size: 16, extra: 4, min_usable: 16, priority: 0 };
const MEMBERS = REQUEST.size + REQUEST.extra;

async function groupBatch(store: Store): Promise<{ batch: string; sessions: string[] }> {
  const spec = newBatch({ group: { size: 16, extra: 4, estimator: 'ms_swift', stale: 'mark' }, retries: 0 });
  await store.createBatch(spec);
  await store.addTasks(spec.id, 0, tasks(3));
  const sessions = ['worker-1', 'worker-2'].map((worker) => newSession(spec.id, { worker }));
  for (const session of sessions) await store.openSession(session);
  return { batch: spec.id, sessions: sessions.map(({ session }) => session) };
}

const placeOf = ({ task, attempt }: Lease): string => `${task.id}.${attempt}`;

async function listed(store: Store, batch: string): Promise<string[]> {
  const places: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await store.rollouts(batch, { limit: 1000, ...(after === undefined ? {} : { after }) });
    places.push(...page.rollouts.map(({ task, attempt }) => `${task}.${attempt}`));
    after = page.next;
    if (after === undefined) return places;
  }
}

const members = (group: string, count = MEMBERS): string[] =>
  Array.from({ length: count }, (_, n) => `${group}.${n + 1}`);

export function groupMemberTests(subject: Subject): void {
  describe('members of groups', () => {
    it('are there once for servers that look at the same moment', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch, sessions } = await groupBatch(store);
      const groups = Array.from({ length: 8 }, (_, n) => `g${n}`);
      await Promise.all(groups.map((group, n) => (n % 2 === 0 ? store : other).addGroup(batch, group, REQUEST)));
      const [first, second, rows, listing] = await Promise.all([
        store.lease(sessions[0]!, 50),
        other.lease(sessions[1]!, 50),
        other.rowsSince(batch, 0, 1000),
        listed(other, batch),
      ]);
      const all = groups.flatMap((group) => members(group)).sort();
      assert.deepEqual(listing.sort(), all);
      assert.equal(new Set(rows.map(({ rollout }) => rollout)).size, all.length);
      assert.equal(new Set(rows.map(({ rev }) => rev)).size, all.length);
      const rest = await store.lease(sessions[0]!, all.length);
      assert.deepEqual([...first, ...second, ...rest].map(placeOf).sort(), all);
      assert.equal((await store.batch(batch))!.row.counts.queued, 0);
      assert.equal((await store.batch(batch))!.row.counts.running, all.length);
    });

    it('are counted before, and canceled with their group by another server', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch } = await groupBatch(store);
      const row = await store.addGroup(batch, 'unwanted', REQUEST);
      assert.equal(row.open, MEMBERS);
      assert.equal((await other.batch(batch))!.row.counts.queued, MEMBERS);
      assert.equal(await other.cancelGroup(batch, 'unwanted', 'not needed'), true);
      const { counts } = (await other.batch(batch))!.row;
      assert.deepEqual([counts.queued, counts.cancelled], [0, MEMBERS]);
      const [ended] = await other.finishedGroups(batch, 0, 10);
      assert.equal(ended!.cut.length, MEMBERS);
      assert.equal(ended!.row.why, `not needed: 0 of 16 members have a reward (${MEMBERS} cut off).`);
    });

    it('end with a batch that is stopped at that moment', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch } = await groupBatch(store);
      await Promise.all(['a', 'b'].map((group) => store.addGroup(batch, group, REQUEST)));
      await other.stop(batch, 'enough');
      const closed = await other.closeRollouts({ batch }, { status: 'cancelled', reason: 'enough' }, false);
      assert.equal(closed.length, 2 * MEMBERS);
      const { row } = (await store.batch(batch))!;
      assert.deepEqual([row.state, row.counts.cancelled, row.counts.queued], ['ended', 2 * MEMBERS, 0]);
    });

    it('run in the order of priorities, also if they are too many for one transaction', async () => {
      const store = subject.store();
      const { batch, sessions } = await groupBatch(store);
      const groups = Array.from({ length: 260 }, (_, n) => `g${n}`);
      const rows = await Promise.all(
        groups.map((group, n) => store.addGroup(batch, group, { ...REQUEST, priority: n === 259 ? 1 : 0 })),
      );
      assert.deepEqual(
        rows.map(({ group, index }) => [group, index]),
        groups.map((group, index) => [group, index]),
      );
      const leases = await store.lease(sessions[0]!, 2 * MEMBERS);
      assert.deepEqual(leases.map(placeOf), [...members('g259'), ...members('g0')]);
      assert.equal((await store.batch(batch))!.row.counts.queued, groups.length * MEMBERS - leases.length);
    });
  });
}
