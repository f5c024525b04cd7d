import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import type { Store } from '../../../src/store/store.ts';
import { event, eventsOf, finish, logLine, newSession, openBatch } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

const LEASE_MS = 600;

/** Waits until sessions have expired, by the database's own clock. */
async function leaseOver(store: Store): Promise<void> {
  const until = (await store.now()) + LEASE_MS;
  while ((await store.now()) <= until) await new Promise((resolve) => setTimeout(resolve, 10));
}

export function sessionTests(subject: Subject): void {
  describe('sessions and leases', () => {
    it('lease the first attempt of every task first, or attempts of a task together', async () => {
      const store = subject.store();
      for (const [order, expected] of [
        ['breadth', ['t0/1', 't1/1', 't2/1', 't0/2']],
        ['depth', ['t0/1', 't0/2', 't1/1', 't1/2']],
      ] as const) {
        const { session } = await openBatch(store, 3, { order });
        const leases = [...(await store.lease(session, 3)), ...(await store.lease(session, 1))];
        assert.deepEqual(
          leases.map((lease) => `${lease.task.id}/${lease.attempt}`),
          expected,
        );
        assert.ok(leases.every(({ epoch, held, last }) => epoch === 1 && !held && last === 0));
      }
    });

    it('never lease a rollout twice, however many request one at once', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 40, { attempts: 5 });
      const second = newSession(batch, { worker: 'worker-2' });
      await subject.other().openSession(second);
      const got: string[] = [];
      const take = async (from: Store, name: string, want: number): Promise<void> => {
        for (let idle = 0; idle < 3; ) {
          const leases = await from.lease(name, want);
          got.push(...leases.map(({ rollout }) => rollout));
          idle = leases.length === 0 ? idle + 1 : 0;
        }
      };
      await Promise.all([
        take(store, session, 3),
        take(store, session, 7),
        take(subject.other(), second.session, 4),
        take(subject.other(), second.session, 9),
      ]);
      assert.equal(got.length, 200);
      assert.equal(new Set(got).size, 200);
      const all = (await store.sessions()).filter((one) => one.batch === batch);
      assert.equal(
        all.reduce((sum, { running }) => sum + running, 0),
        200,
      );
    });

    it('serve many sessions that request leases at once in request order, each from its own batch', async () => {
      const store = subject.store();
      const [one, two] = [await openBatch(store, 3, { attempts: 2 }), await openBatch(store, 2, { attempts: 1 })];
      const second = newSession(one.batch, { worker: 'worker-2' });
      await store.openSession(second);
      const paused = await openBatch(store, 1);
      await store.setPaused(paused.batch, true);
      const notified = new Set<string>();
      const unwatch = store.watch((ids) => ids.forEach((id) => notified.add(id)));
      const requests = [
        store.lease(one.session, 2),
        store.lease(two.session, 5),
        store.lease('s-none', 1),
        store.lease(second.session, 1),
        store.lease(paused.session, 1),
        store.lease(one.session, 9),
      ];
      const got = (await Promise.allSettled(requests)).map((result) =>
        result.status === 'rejected'
          ? StudioError.is(result.reason)
            ? result.reason.code
            : '?'
          : result.value.map((lease) => `${lease.task.id}/${lease.attempt}`),
      );
      assert.deepEqual(got, [['t0/1', 't1/1'], ['t0/1', 't1/1'], 'not_found', ['t2/1'], [], ['t0/2', 't1/2', 't2/2']]);
      assert.deepEqual(
        (await store.sessions({ batch: one.batch })).map(({ worker, running }) => [worker, running]),
        [
          ['worker-1', 5],
          ['worker-2', 1],
        ],
      );
      assert.deepEqual(
        (await store.sessions({ batch: one.batch, worker: 'worker-2' })).map(({ session }) => session),
        [second.session],
      );
      unwatch();
      assert.deepEqual(
        [one.batch, two.batch, paused.batch].map((batch) => notified.has(batch)),
        [true, true, false],
        'a batch that nothing is leased of does not change',
      );
    });

    it('requeue the rollouts of an ended session immediately, with their epochs', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 2, { attempts: 1 });
      const [one, two] = await store.lease(session, 2);
      await store.append({
        rollout: one!.rollout,
        epoch: 1,
        from: 1,
        events: [logLine(1), event(2, 'hold', { why: 'breakpoint', side: 'before' })],
      });
      assert.deepEqual(
        (await store.sessions())
          .filter((other) => other.session === session)
          .map(({ running, held, worker }) => [running, held, worker]),
        [[1, 1, 'worker-1']],
      );
      assert.deepEqual(
        (await store.endSession(session, 'drained')).toSorted(),
        [one!.rollout, two!.rollout].toSorted(),
      );
      assert.deepEqual(await store.endSession(session, 'drained'), []);
      const row = (await store.rollout(one!.rollout))!;
      assert.deepEqual([row.row.state, row.row.epoch, row.session], ['queued', 1, undefined]);
      const reports = (await eventsOf(store, batch)).filter(({ kind }) => kind === 'infra');
      assert.equal(reports.length, 2);
      assert.equal(await store.beat(session), false);
      await assert.rejects(store.lease(session, 1), (error) => StudioError.is(error, 'not_found'));
      const next = newSession(batch, { worker: 'worker-2' });
      await store.openSession(next);
      const again = await store.lease(next.session, 5);
      assert.deepEqual(
        again.map(({ rollout, epoch, last, held, try: n }) => [rollout, epoch, last, held, n]),
        [
          [one!.rollout, 2, 2, true, 1],
          [two!.rollout, 2, 0, false, 1],
        ],
      );
      const late = await store.append({ rollout: one!.rollout, epoch: 1, from: 3, events: [logLine(3)] });
      assert.deepEqual([late.ok, !late.ok && late.code, late.durable], [false, 'fenced', 2]);
    });

    it('give a rollout back in the epoch in which they hold it, and keep the others', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 2, { attempts: 1 });
      const [one, two] = await store.lease(session, 2);
      await store.append({ rollout: one!.rollout, epoch: 1, from: 1, events: [logLine(1)] });
      const next = newSession(batch, { worker: 'worker-2' });
      await subject.other().openSession(next);
      const states = async (): Promise<unknown[]> =>
        Promise.all(
          [one, two].map(async (lease) => {
            const { row, session: holder } = (await store.rollout(lease!.rollout))!;
            return [row.state, row.epoch, holder];
          }),
        );
      const held = [
        ['running', 1, session],
        ['running', 1, session],
      ];
      await store.handOver(session, one!.rollout, 2);
      await store.handOver(next.session, one!.rollout, 1);
      await store.handOver(session, 'r-unknown', 1);
      assert.deepEqual(await states(), held, 'nobody else can give it back, nor in another epoch');
      await store.handOver(session, one!.rollout, 1);
      assert.deepEqual(await states(), [['queued', 1, undefined], held[1]]);
      const { counts } = (await store.batch(batch))!.row;
      assert.deepEqual([counts.queued, counts.running], [1, 1]);
      assert.deepEqual(
        (await subject.other().lease(next.session, 5)).map(({ rollout, epoch, last, try: n }) => [
          rollout,
          epoch,
          last,
          n,
        ]),
        [[one!.rollout, 2, 1, 1]],
      );
      const late = await store.append({ rollout: one!.rollout, epoch: 1, from: 2, events: [logLine(2)] });
      assert.deepEqual([late.ok, !late.ok && late.code], [false, 'fenced']);
      await store.handOver(session, one!.rollout, 1);
      assert.deepEqual(await states(), [['running', 2, next.session], held[1]], 'a late repeat changes nothing');
      await finish(store, batch, two!);
      await store.handOver(session, two!.rollout, 1);
      assert.equal((await store.rollout(two!.rollout))?.row.state, 'ended');
      const reports = (await eventsOf(store, batch)).filter(({ kind }) => kind === 'infra');
      assert.deepEqual(reports, [], 'it is no loss');
    });

    it('accept what a lost worker sends before another holds the rollout', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1, { attempts: 1 });
      const [lease] = await store.lease(session, 1);
      await store.endSession(session, 'gone');
      await finish(store, batch, lease!);
      assert.deepEqual(
        [(await store.rollout(lease!.rollout))?.row.settles, (await store.batch(batch))?.row.state],
        [true, 'ended'],
      );
    });

    it('end sessions without a sign of life, and no others', async () => {
      const store = await subject.fresh({ leaseMs: LEASE_MS });
      const { batch, session } = await openBatch(store, 2, { attempts: 1 });
      const alive = newSession(batch, { worker: 'alive' });
      await store.openSession(alive);
      const [lost] = await store.lease(session, 1);
      await store.lease(alive.session, 1);
      assert.deepEqual(await store.expireSessions(), []);
      await leaseOver(store);
      assert.equal(await store.beat(alive.session), true);
      assert.deepEqual(await store.expireSessions(), [
        { session, worker: 'worker-1', batch, rollouts: [lost!.rollout] },
      ]);
      assert.deepEqual(await store.expireSessions(), []);
      const infra = (await eventsOf(store, batch)).find(({ kind }) => kind === 'infra');
      assert.equal(infra?.kind === 'infra' && infra.data.rollout, lost!.rollout);
      assert.deepEqual(
        (await store.sessions()).map(({ worker }) => worker),
        ['alive'],
      );
      await leaseOver(store);
      await store.graceForSessions();
      assert.deepEqual(await store.expireSessions(), [], 'a server that starts gives everybody time');
    });

    it('let a reconnecting worker keep what is still its own', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 5, { attempts: 1 });
      const leases = await store.lease(session, 5);
      const [kept, requeued, taken, done, held] = leases;
      await store.append({ rollout: kept!.rollout, epoch: 1, from: 1, events: [logLine(1)] });
      await finish(store, batch, done!);
      await store.append({
        rollout: held!.rollout,
        epoch: 1,
        from: 1,
        events: [event(1, 'hold', { why: 'step', side: 'after' })],
      });
      await store.endSession(session, 'its connection broke');
      const thief = newSession(batch, { worker: 'worker-2' });
      await store.openSession(thief);
      // Queue order: the first three tasks. The thief takes one of them and returns the others.
      const stolen = await store.lease(thief.session, 3);
      assert.deepEqual(
        stolen.map(({ rollout }) => rollout),
        [kept!.rollout, requeued!.rollout, taken!.rollout],
      );
      const back = newSession(batch);
      await store.openSession(back);
      const answer = await store.adopt(back.session, [
        ...leases.map(({ rollout }) => ({ rollout, epoch: 1 })),
        { rollout: 'r-none', epoch: 1 },
      ]);
      assert.deepEqual(answer.keep, [{ rollout: held!.rollout, durable: 1 }]);
      assert.deepEqual(answer.drop.toSorted(), [kept!.rollout, requeued!.rollout, taken!.rollout, 'r-none'].toSorted());
      assert.deepEqual(answer.ended, [done!.rollout]);
      assert.deepEqual(
        [(await store.rollout(held!.rollout))?.row.state, (await store.rollout(held!.rollout))?.session],
        ['held', back.session],
      );
      // The thief itself reconnects before its old session is over.
      const again = newSession(batch, { worker: 'worker-2', server: 'server-2' });
      const takenOver = await store.takeOver(
        again,
        thief.session,
        [...stolen.slice(0, 2), held!].map(({ rollout, epoch }) => ({ rollout, epoch })),
      );
      assert.deepEqual(
        [takenOver?.keep.map(({ durable }) => durable), takenOver?.drop, takenOver?.server],
        [[1, 0], [held!.rollout], 'server-1'],
        'only what its own session holds',
      );
      assert.equal((await store.rollout(taken!.rollout))?.row.state, 'queued', 'it no longer runs this one');
      assert.equal(await store.session(thief.session), undefined);
      assert.equal(await store.takeOver(newSession(batch, { worker: 'worker-2' }), thief.session, []), undefined);
      await assert.rejects(store.adopt('s-none', []), (error) => StudioError.is(error, 'not_found'));
    });

    it('have their rollouts until another session has taken them over', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1, { attempts: 1 });
      const [lease] = await store.lease(session, 1);
      const held = [{ rollout: lease!.rollout, epoch: lease!.epoch }];
      for (let round = 0, name = session; round < 20; round++) {
        const next = newSession(batch);
        const state = { isTaken: false };
        const taking = subject
          .other()
          .takeOver(next, name, held)
          .finally(() => {
            state.isTaken = true;
          });
        while (!state.isTaken) {
          for (const open of await Promise.all(Array.from({ length: 8 }, () => store.session(name))))
            assert.deepEqual(open?.rollouts ?? [lease!.rollout], [lease!.rollout]);
          await new Promise((resolve) => setImmediate(resolve)); // SQLite answers within a turn
        }
        assert.equal((await taking)?.keep.length, 1);
        name = next.session;
      }
    });

    it('give the name of a worker with an open session to nobody else', async () => {
      const store = await subject.fresh({ leaseMs: LEASE_MS });
      const { batch, session } = await openBatch(store, 1, { attempts: 1 });
      const [lease] = await store.lease(session, 1);
      const held = [{ rollout: lease!.rollout, epoch: lease!.epoch }];
      const unavailable = (error: unknown): boolean => StudioError.is(error, 'unavailable');
      await assert.rejects(store.openSession(newSession(batch)), unavailable);
      const stranger = newSession(batch, { worker: 'worker-2' });
      await store.openSession(stranger);
      assert.deepEqual((await store.adopt(stranger.session, held)).drop, [lease!.rollout]);
      await assert.rejects(store.takeOver(newSession(batch, { worker: 'worker-2' }), session, held), (error) =>
        StudioError.is(error, 'forbidden'),
      );
      assert.deepEqual(await store.session(session), {
        batch,
        worker: 'worker-1',
        batchEnded: false,
        rollouts: [lease!.rollout],
      });
      assert.equal((await store.rollout(lease!.rollout))?.session, session);
      await leaseOver(store);
      await store.openSession(newSession(batch));
    });

    it('know to which server a debugger is connected', async () => {
      const [store, other] = [subject.store(), subject.other()];
      await store.setDebugger('d1', 's1');
      await other.setDebugger('d1', 's2'); // it reconnected there
      await store.setDebugger('d2', 's1');
      assert.deepEqual(await Promise.all([store.debuggerLeft('d1', 's1'), store.debuggerLeft('d2', 's1')]), [
        false,
        true,
      ]);
      assert.equal(await other.debuggerLeft('d1', 's2'), true);
      assert.equal(await store.debuggerLeft('d1', 's1'), true, 'it is connected to none');
    });

    it('elect one server for a role', async () => {
      const store = subject.store();
      assert.equal(await store.elect('jobs'), true);
      assert.equal(await store.elect('jobs'), true);
      if (subject.other() !== store) {
        assert.equal(await subject.other().elect('jobs'), false);
        assert.equal(await subject.other().elect('metrics'), true);
        assert.equal(await store.elect('metrics'), false);
      }
    });

    it('have one secret key', async () => {
      const keys = await Promise.all([subject.store().secretKey(), subject.other().secretKey()]);
      assert.match(keys[0], /^[0-9a-f]{64}$/);
      assert.equal(keys[0], keys[1]);
      assert.equal(await subject.store().secretKey(), keys[0]);
    });
  });
}
