import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type RetentionFile, retentionFile } from '../../../src/config/schema/retentionFile.ts';
import type { NewBatch, Store } from '../../../src/store/store.ts';
import { addVerdict, finish, newBatch, newSession, openBatch, shaOf, task } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

async function ended(store: Store, over: Partial<NewBatch> = {}): Promise<{ batch: string; rollout: string }> {
  const { batch, session } = await openBatch(store, 1, { attempts: 1, ...over });
  const [lease] = await store.lease(session, 1);
  await finish(store, batch, lease!);
  return { batch, rollout: lease!.rollout };
}

const rules = (text: object): RetentionFile => retentionFile.parse({ version: 1, ...text });
const names = async (store: Store, text: object): Promise<string[]> =>
  (await store.retention(rules(text))).batches.map(({ batch }) => batch);

export function retentionTests(subject: Subject): void {
  describe('rules of retention', () => {
    it('take the first that fits, and say which', async () => {
      const store = await subject.fresh();
      const kept = await ended(store, { name: 'nightly-1' });
      const old = await ended(store, { name: 'nightly-2', by: 'bo' });
      const other = await ended(store, { name: 'other' });
      await openBatch(store, 1); // runs
      const text = {
        rules: [
          { name: 'nightly-1', keep: 'forever' },
          { age: 0.000_1, name: 'nightly-*', delete: true },
        ],
      };
      const { batches, total } = await store.retention(rules(text));
      assert.deepEqual(
        batches.map(({ batch, why }) => [batch, why]),
        [[old.batch, 'rule 2: ended more than 0.1 ms ago, name nightly-*']],
      );
      assert.ok(batches[0]!.bytes > 300 && total > batches[0]!.bytes * 2);
      assert.deepEqual(await names(store, { rules: [{ age: 3600, delete: true }] }), []);
      assert.deepEqual(await names(store, { rules: [{ user: 'bo', delete: true }] }), [old.batch]);
      assert.deepEqual(await names(store, {}), []);
      assert.deepEqual(await names(store, { rules: [{ stopped: false, delete: true }] }), [
        kept.batch,
        old.batch,
        other.batch,
      ]);
      const removed = await store.gc({ batches: [old.batch], dryRun: false });
      assert.deepEqual(removed.batches, [old.batch]);
    });

    it('tell labeled and shared batches apart', async () => {
      const store = await subject.fresh();
      const labeled = await ended(store);
      await addVerdict(store, labeled.batch, {
        ...{ rollout: labeled.rollout, scorer: 'person:ada', by: 'ada', value: 0, passed: false },
      });
      const shared = await ended(store, { by: 'bo', shared: ['ada'] });
      const plain = await ended(store);
      assert.deepEqual(await names(store, { rules: [{ labeled: true, delete: true }] }), [labeled.batch]);
      assert.deepEqual(await names(store, { rules: [{ shared: true, delete: true }] }), [shared.batch]);
      assert.deepEqual(await names(store, { max_bytes: 1 }), [plain.batch], 'max_bytes takes neither');
    });

    it('remove the oldest above a size, until the rest fits', async () => {
      const store = await subject.fresh();
      const content = [1, 2, 3].map((n) => Buffer.alloc(50_000, n));
      const batches: string[] = [];
      for (const bytes of content) {
        await store.blobs.put(shaOf(bytes), bytes);
        batches.push((await ended(store, { blobs: [shaOf(bytes)] })).batch);
      }
      assert.deepEqual(await names(store, { max_bytes: 1_000_000 }), []);
      assert.deepEqual(await names(store, { max_bytes: 120_000 }), batches.slice(0, 1));
      assert.deepEqual(await names(store, { max_bytes: 60_000 }), batches.slice(0, 2));
      assert.deepEqual(await names(store, { rules: [{ age: 0.000_1, keep: 'forever' }], max_bytes: 1 }), []);
    });

    it('trim after one time and remove after another', async () => {
      const store = await subject.fresh();
      const [first, second, third] = [await ended(store, { name: 'a' }), await ended(store), await ended(store)];
      const plan = async (text: object) =>
        (await store.retention(rules(text))).batches.map(({ batch, why, trim }) => [batch, trim, why]);
      const now = 0.000_1;
      const when = 'ended more than 0.1 ms ago';
      assert.deepEqual(await plan({ rules: [{ keep: 3600, keep_trajectories: 60 }] }), []);
      assert.deepEqual(
        await plan({
          rules: [
            { name: 'a', keep: now },
            { keep: 3600, keep_trajectories: now },
          ],
        }),
        [
          [first.batch, false, `rule 1: ${when}, name a`],
          [second.batch, true, `rule 2: ${when}`],
          [third.batch, true, `rule 2: ${when}`],
        ],
      );
      assert.deepEqual(await plan({ rules: [{ keep: 'forever', keep_trajectories: now }], max_bytes: 1 }), [
        [first.batch, true, `rule 1: ${when}`],
        [second.batch, true, `rule 1: ${when}`],
        [third.batch, true, `rule 1: ${when}`],
      ]);
      const size = 'the store has more than max_bytes';
      const { total } = await store.retention(rules({}));
      const bySize = async (most: number) =>
        (await plan({ rules: [{ keep_trajectories: 3600 }], max_bytes: most })).map(([batch, trim, why]) => [
          ...[batch, trim],
          String(why).slice(0, size.length),
        ]);
      assert.deepEqual(await bySize(total), []);
      assert.deepEqual(await bySize(total - 1), [[first.batch, true, size]], 'its trajectories are enough');
      assert.deepEqual(await bySize(1), [
        [first.batch, false, size],
        [second.batch, false, size],
        [third.batch, false, size],
      ]);
      await store.gc({ batches: [first.batch], trim: () => ({ rule: 'rule 1' }), dryRun: false });
      assert.deepEqual((await store.batch(first.batch))?.row.trimmed?.rule, 'rule 1');
      assert.deepEqual(await plan({ rules: [{ name: 'a', keep_trajectories: now }] }), [], 'it is trimmed');
      assert.deepEqual(await names(store, { rules: [{ name: 'a', keep: now }] }), [first.batch]);
    });

    it('keep what a running batch, or a batch that stays, reads', async () => {
      const store = await subject.fresh();
      const parent = await ended(store);
      const source = await ended(store);
      const lineage = [{ rollout: parent.rollout, to: 1 }];
      const fork = newBatch({
        attempts: 1,
        name: 'fork',
        parent: { rollout: parent.rollout, seq: 1, lineage, edits: [] },
      });
      await store.createBatch(fork);
      await store.addTasks(fork.id, 0, [task('t0')]);
      await store.seal(fork.id);
      const curriculum = { by: source.batch, kept: 1, unknown: 0, too_hard: 0, too_easy: 0 };
      await store.createBatch(newBatch({ curriculum: { ...curriculum, keep: [0.1, 0.9] } as never }));
      const all = { rules: [{ imported: false, delete: true }] };
      assert.deepEqual(await names(store, all), [], 'the fork and the curriculum run');
      const session = newSession(fork.id);
      await store.openSession(session);
      const [lease] = await store.lease(session.session, 1);
      await finish(store, fork.id, { ...lease!, last: 1 });
      assert.deepEqual(await names(store, { rules: [{ name: 'nightly', delete: true }] }), [], 'the fork stays');
      assert.deepEqual(await names(store, all), [parent.batch, fork.id]);
      const trim = [
        { name: 'fork', keep_trajectories: 0.000_01 },
        { name: 'nightly', keep: 0.000_1, keep_trajectories: 0.000_01 },
      ];
      assert.deepEqual(
        (await store.retention(rules({ rules: trim }))).batches.map(({ batch, trim: isTrim }) => [batch, isTrim]),
        [
          [parent.batch, true],
          [fork.id, true],
        ],
        'a parent is listed as long as its fork',
      );
      assert.deepEqual(await names(store, { rules: trim.slice(1) }), [], 'the fork reads it');
    });
  });
}
