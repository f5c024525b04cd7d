import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import type { Store } from '../../../src/store/store.ts';
import { event, newBatch, newSession, shaOf, tasks } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

const STRANGE = 'o\'hara "*" \0 ümläut';

async function seenBy(store: Store, reader: string): Promise<string[]> {
  return (await store.batches({ limit: 500, reader })).batches.map(({ batch }) => batch);
}

async function put(store: Store, text: string): Promise<string> {
  const bytes = Buffer.from(text);
  await store.blobs.put(shaOf(bytes), bytes);
  return shaOf(bytes);
}

export function accessTests(subject: Subject): void {
  describe('batches of users', () => {
    it('are seen by their user, and by those whom they are shared with, at every server', async () => {
      const [store, other] = [await subject.fresh(), subject.other()];
      const mine = newBatch({ by: STRANGE });
      const open = newBatch();
      const team = newBatch({ by: 'ann', shared: ['bob', 'bob'] });
      for (const spec of [mine, open, team]) await store.createBatch(spec);
      assert.deepEqual(await seenBy(store, STRANGE), [open.id, mine.id]);
      assert.deepEqual(await seenBy(store, 'ann'), [team.id, open.id]);
      assert.deepEqual(await seenBy(store, 'bob'), [team.id, open.id]);
      for (const nobody of ['*', '"*"', 'bo', ''])
        assert.deepEqual(await seenBy(store, nobody), [open.id], JSON.stringify(nobody));
      assert.equal((await store.batches({ limit: 9 })).batches.length, 3, 'administrators see all');
      await store.sharing.share(mine.id, 'everyone');
      assert.deepEqual(await seenBy(store, 'carl'), [open.id, mine.id]);
      await store.sharing.share(mine.id, ['*', 'carl']);
      assert.deepEqual(await seenBy(store, 'dora'), [open.id], 'a user may be named *');
      assert.deepEqual(await seenBy(store, 'carl'), [open.id, mine.id]);
      const { row, spec } = (await store.batch(mine.id)) ?? {};
      assert.deepEqual([row?.by, row?.shared, spec?.by], [STRANGE, ['*', 'carl'], STRANGE]);
      await store.sharing.share(mine.id, []);
      assert.deepEqual((await store.batch(mine.id))?.row.shared, []);
      assert.deepEqual(await seenBy(store, 'carl'), [open.id]);
      await assert.rejects(store.sharing.share(open.id, 'everyone'), (error) => StudioError.is(error, 'conflict'));
      await assert.rejects(other.sharing.share('b-none', []), (error) => StudioError.is(error, 'not_found'));
    });

    it('keep their content to those who may read them', async () => {
      const store = await subject.fresh();
      const file = await put(store, 'a file of ann');
      const mine = newBatch({ by: 'ann', blobs: [file], attempts: 1 });
      await store.createBatch(mine);
      await store.addTasks(mine.id, 0, tasks(1));
      const session = newSession(mine.id);
      await store.openSession(session);
      const [lease] = await store.lease(session.session, 1);
      assert.ok(lease !== undefined);
      const large = await put(store, 'a large value of an event');
      const value = { $blob: large, bytes: 25, media: 'text/plain', head: '' };
      const parts = [{ type: 'text' as const, content: value }];
      await store.append({
        rollout: lease.rollout,
        epoch: 1,
        from: 1,
        events: [event(1, 'message', { m: 1, role: 'user', origin: 'given', parts })],
      });
      const all = [file, large];
      const readable = async (user: string) => [...(await store.sharing.readable(user, all))].sort();
      assert.deepEqual(await readable('ann'), all.toSorted());
      assert.deepEqual(await readable('bob'), []);
      await store.sharing.uploaded('bob', file);
      await store.sharing.uploaded('bob', file);
      assert.deepEqual(await readable('bob'), [file], 'who has sent it has it');
      await store.sharing.share(mine.id, ['carl']);
      assert.deepEqual(await readable('carl'), all.toSorted());
      // A fork reads what it continues.
      const lineage = [{ rollout: lease.rollout, to: 1 }];
      await store.createBatch(newBatch({ by: 'carl', parent: { rollout: lease.rollout, seq: 1, lineage, edits: [] } }));
      await store.sharing.share(mine.id, []);
      assert.deepEqual(await readable('carl'), all.toSorted());
      assert.deepEqual(await readable('dora'), []);
    });

    it('are removed with whom they were shared with', async () => {
      const store = await subject.fresh();
      const mine = newBatch({ by: 'ann', shared: 'everyone' });
      await store.createBatch(mine);
      await store.seal(mine.id);
      await store.gc({ batches: [mine.id], dryRun: false });
      assert.deepEqual(await seenBy(store, 'bob'), []);
    });
  });

  describe('the audit log', () => {
    it('says who did what, newest first, by user, batch, and time', async () => {
      const [store, other] = [await subject.fresh(), subject.other()];
      await store.audit.add({ user: STRANGE, what: 'launch', batch: 'b1', result: 'done' });
      await store.audit.add({ what: 'pause', batch: 'b1', result: 'conflict', detail: 'It has ended.' });
      await store.audit.add({ user: 'ann', what: 'gc', result: 'forbidden', detail: 'administer' });
      const all = await store.audit.list({ limit: 9 });
      assert.deepEqual(
        all.map(({ id: _id, at: _at, ...entry }) => entry),
        [
          { user: 'ann', what: 'gc', result: 'forbidden', detail: 'administer' },
          { what: 'pause', batch: 'b1', result: 'conflict', detail: 'It has ended.' },
          { user: STRANGE, what: 'launch', batch: 'b1', result: 'done' },
        ],
      );
      const [newest, , oldest] = all;
      assert.ok(newest !== undefined && oldest !== undefined && newest.at >= oldest.at && newest.id > oldest.id);
      const what = async (page: object) => (await store.audit.list({ limit: 9, ...page })).map((entry) => entry.what);
      assert.deepEqual(await what({ user: STRANGE }), ['launch']);
      assert.deepEqual(await what({ batch: 'b1' }), ['pause', 'launch']);
      assert.deepEqual(await what({ batch: 'b1', user: 'ann' }), []);
      assert.deepEqual(await what({ since: newest.at + 1 }), []);
      assert.deepEqual(await what({ before: newest.id, limit: 1 }), ['pause']);
      await other.audit.list({ limit: 1 });
    });

    it('keeps the newest entries only', async () => {
      const store = await subject.fresh({ auditEntries: 10 });
      for (let n = 1; n <= 35; n++) await store.audit.add({ what: `${n}`, result: 'done' });
      const kept = (await store.audit.list({ limit: 100 })).map(({ what }) => Number(what));
      assert.equal(kept[0], 35);
      assert.ok(kept.length >= 10 && kept.length < 20, `${kept.length} entries`);
    });
  });
}
