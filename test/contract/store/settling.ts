import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  type Ending,
  event,
  eventsOf,
  finish,
  logLine,
  newBatch,
  newSession,
  openBatch,
  shaOf,
  tasks,
  wholeRollout,
} from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

async function standing(store: Store, batch: string): Promise<string> {
  const row = (await store.batch(batch))!.row;
  const all = Object.entries(row.counts)
    .filter(([, n]) => n > 0)
    .map(([name, n]) => `${n} ${name}`);
  assert.equal(
    Object.values(row.counts).reduce((sum, n) => sum + n, 0),
    row.tasks * row.attempts,
    'every attempt is counted once',
  );
  return `${row.state}: ${all.join(', ')}`;
}

export function settlingTests(subject: Subject): void {
  describe('attempts', () => {
    it('are settled by rollouts that end done or truncated', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 5, { attempts: 1 });
      const endings: Ending[] = [
        {},
        { passed: false },
        { passed: null, reward: null },
        { status: 'truncated', passed: false },
        { passed: true, reward: null },
      ];
      for (const lease of await store.lease(session, 5)) await finish(store, batch, lease, endings.shift());
      assert.equal(await standing(store, batch), 'ended: 1 passed, 2 failed, 2 unscored');
      assert.equal((await store.batch(batch))!.row.truncated, 1);
      assert.equal((await eventsOf(store, batch)).at(-1)?.kind, 'batch.end');
      assert.equal(await store.retry(batch), 0);
    });

    it('get further tries after infrastructure failures, as many as the batch allows', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1, { attempts: 1, retries: 2 });
      for (let n = 1; n <= 3; n++) {
        assert.equal(await standing(store, batch), 'running: 1 queued');
        const [lease] = await store.lease(session, 5);
        assert.deepEqual([lease?.try, lease?.epoch, lease?.last], [n, 1, 0]);
        await finish(store, batch, lease!, { status: 'infrastructure', passed: null, reward: null });
      }
      assert.equal(await standing(store, batch), 'ended: 1 infrastructure');
      const page = await store.rollouts(batch, { limit: 9 });
      assert.deepEqual(
        page.rollouts.map((row) => [row.try, row.settles]),
        [[3, false]],
      );
      assert.deepEqual(
        (await store.rollouts(batch, { limit: 9, all: true })).rollouts.map((row) => row.try),
        [1, 2, 3],
      );
      const first = await store.rollouts(batch, { limit: 2, all: true });
      assert.deepEqual(
        (await store.rollouts(batch, { limit: 2, all: true, after: first.next! })).rollouts.map((row) => row.try),
        [3],
      );
      assert.equal(await store.retry(batch), 1);
      assert.equal(await store.retry(batch), 0, 'it is queued already');
      const [again] = await store.lease(session, 1);
      await finish(store, batch, again!);
      assert.equal(await standing(store, batch), 'ended: 1 passed');
      assert.equal((await eventsOf(store, batch)).filter(({ kind }) => kind === 'batch.end').length, 2);
    });

    it('get a fresh try when somebody touched the rollout, but not in the debugger', async () => {
      const store = subject.store();
      for (const debug of [false, true]) {
        const { batch, session } = await openBatch(store, 1, { attempts: 1, retries: 0, debug });
        const [lease] = await store.lease(session, 1);
        await finish(store, batch, lease!, { touched: true });
        assert.equal(await standing(store, batch), debug ? 'ended: 1 passed' : 'running: 1 queued');
        assert.equal((await store.rollout(lease!.rollout))?.row.settles, debug);
      }
    });

    it('stay cancelled until somebody retries them', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 2, { attempts: 1 });
      const [lease] = await store.lease(session, 1);
      await finish(store, batch, lease!, { status: 'cancelled', passed: null, reward: null });
      assert.equal(await standing(store, batch), 'running: 1 cancelled, 1 queued');
      assert.equal(await store.retry(batch), 1);
      for (const again of await store.lease(session, 5)) await finish(store, batch, again);
      assert.equal(await standing(store, batch), 'ended: 2 passed');
      assert.equal(await store.retry(batch), 0);
      assert.equal((await store.batch(batch))?.row.state, 'ended');
    });

    it('mark equal trajectories of a task as duplicates of the lowest attempt', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 2, { attempts: 4, order: 'depth' });
      const leases = await store.lease(session, 8);
      const ids = leases.map(({ rollout }) => rollout);
      const [same, other] = [shaOf('same'), shaOf('other')];
      const of = async (n: number) => (await store.rollout(ids[n]!))?.row.duplicate_of;
      await finish(store, batch, leases[2]!, { fingerprint: same });
      await finish(store, batch, leases[3]!, { fingerprint: same });
      assert.deepEqual([await of(2), await of(3)], [undefined, ids[2]]);
      const { rev } = (await store.batch(batch))!.row;
      await Promise.all([
        finish(store, batch, leases[0]!, { fingerprint: same }),
        finish(store, batch, leases[1]!, { fingerprint: other }),
      ]);
      assert.deepEqual([await of(0), await of(1), await of(2), await of(3)], [undefined, undefined, ids[0], ids[0]]);
      const changed = (await store.rowsSince(batch, rev, 100)).map(({ rollout }) => rollout);
      assert.ok(changed.includes(ids[2]!) && changed.includes(ids[3]!), 'whoever watches the rows learns of it');
      await Promise.all(leases.slice(4).map((lease) => finish(store, batch, lease, { fingerprint: same })));
      assert.deepEqual(
        [await of(4), await of(5), await of(6), await of(7)],
        [undefined, ids[4], ids[4], ids[4]],
        'tasks are apart',
      );
    });

    it('are closed by the server: queued ones, or all by force', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 2, { attempts: 2 });
      const [lease] = await store.lease(session, 1);
      await store.append({
        rollout: lease!.rollout,
        epoch: 1,
        from: 1,
        events: [...wholeRollout(1, lease!, batch).slice(0, 4), event(5, 'hold', { why: 'pause', side: 'before' })],
      });
      const end = { status: 'cancelled', reason: 'cancelled by somebody \0' } as const;
      assert.equal((await store.closeRollouts({ batch, task: 't1' }, end, false)).length, 2);
      assert.equal(await standing(store, batch), 'running: 2 cancelled, 1 held, 1 queued');
      assert.equal((await store.closeRollouts({ batch }, end, false)).length, 1);
      assert.deepEqual(await store.closeRollouts({ batch }, end, false), []);
      assert.deepEqual(await store.closeRollouts({ batch, rollout: lease!.rollout }, end, true), [lease!.rollout]);
      assert.equal(await standing(store, batch), 'ended: 4 cancelled');
      const events = await eventsOf(store, lease!.rollout);
      assert.deepEqual(
        events
          .slice(5)
          .map(({ seq, kind, data }) => [seq, kind, 'how' in data ? data.how : 'status' in data && data.status]),
        [
          [6, 'rollout.lease', 'closing'],
          [7, 'rollout.end', 'cancelled'],
        ],
      );
      for (let n = 1; n < events.length; n++) assert.ok(events[n]!.at >= events[n - 1]!.at);
      const late = await store.append({ rollout: lease!.rollout, epoch: 1, from: 6, events: [logLine(6)] });
      assert.deepEqual([late.ok, !late.ok && late.code], [false, 'fenced']);
      const [queued] = (await store.rollouts(batch, { limit: 1, task: 't1' })).rollouts;
      const own = await eventsOf(store, queued!.rollout);
      assert.deepEqual(
        own.map(({ kind }) => kind),
        ['rollout.start', 'rollout.lease', 'rollout.end'],
        'nobody held it before',
      );
      assert.equal(queued!.progress.error_class, 'cancelled');
    });

    it('close by the thousand', async () => {
      const store = subject.store();
      const { batch } = await openBatch(store, 300, { attempts: 4 });
      const closed = await store.closeRollouts({ batch }, { status: 'cancelled', reason: 'enough' }, false);
      assert.equal(new Set(closed).size, 1200);
      assert.equal(await standing(store, batch), 'ended: 1200 cancelled');
    });

    it('of a fork begin after the cut', async () => {
      const store = subject.store();
      const parent = await openBatch(store, 1, { attempts: 1 });
      const [lease] = await store.lease(parent.session, 1);
      await finish(store, parent.batch, lease!, { steps: 3 });
      const lineage = [{ rollout: lease!.rollout, to: 4 }];
      const spec = newBatch({
        attempts: 2,
        retries: 1,
        parent: { rollout: lease!.rollout, seq: 4, lineage, edits: [] },
      });
      await store.createBatch(spec);
      await store.addTasks(spec.id, 0, tasks(1));
      await store.seal(spec.id);
      const session = newSession(spec.id);
      await store.openSession(session);
      const [one, two] = await store.lease(session.session, 2);
      assert.deepEqual([one?.lineage, one?.last], [lineage, 4]);
      assert.deepEqual((await store.rollout(one!.rollout))?.lineage, lineage);
      assert.deepEqual((await store.batch(spec.id))?.row.parent, { rollout: lease!.rollout, seq: 4 });
      const gap = await store.append({ rollout: one!.rollout, epoch: 1, from: 6, events: [logLine(6)] });
      assert.deepEqual([gap.ok, gap.durable], [false, 4]);
      await finish(store, spec.id, one!);
      await finish(store, spec.id, two!, { status: 'infrastructure', passed: null });
      assert.equal((await eventsOf(store, one!.rollout))[0]?.seq, 5);
      const [again] = await store.lease(session.session, 2);
      assert.deepEqual([again?.try, again?.last], [2, 4]);
      await store.closeRollouts({ batch: spec.id }, { status: 'cancelled', reason: 'enough' }, true);
      const [start] = await eventsOf(store, again!.rollout);
      assert.deepEqual(
        [start?.seq, start?.kind === 'rollout.start' && start.data.fork],
        [5, { rollout: lease!.rollout, seq: 4 }],
      );
      const orphan = newBatch({
        parent: { rollout: 'r-none', seq: 1, lineage: [{ rollout: 'r-none', to: 1 }], edits: [] },
      });
      await assert.rejects(store.createBatch(orphan), (error) => StudioError.is(error, 'not_found'));
      assert.equal(await store.batch(orphan.id), undefined);
    });
  });
}
