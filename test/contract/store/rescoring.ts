import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { newId } from '../../../src/common/ids.ts';
import type { Lease, NewBatch, Store } from '../../../src/store/store.ts';
import { TRACE_VERSION, type TraceEvent } from '../../../src/trace/schema.ts';
import { addVerdict, endOf, eventsOf, finish, newBatch, newSession, openBatch } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

/** A sealed batch that scores all rollouts of another one again, and a session for it. */
async function rescoring(
  store: Store,
  batch: string,
  over: Partial<NewBatch> = {},
): Promise<{ batch: string; session: string }> {
  const spec = newBatch({ rescores: { batch, by: 'ada' }, ...over });
  await store.createBatch(spec);
  const { rollouts } = await store.rollouts(batch, { limit: 100 });
  const { tasks } = await store.tasks(batch, { limit: 100 });
  await store.addRescored(
    spec.id,
    0,
    tasks.map((task, index) => ({
      task,
      rollouts: rollouts
        .filter((row) => row.task_index === index)
        .map(({ attempt, rollout }) => ({ attempt, rollout })),
    })),
  );
  await store.seal(spec.id);
  const session = newSession(spec.id);
  await store.openSession(session);
  return { batch: spec.id, session: session.session };
}

/** What a worker writes that scores a rollout again. */
function verdictEvents(batch: string, lease: Lease, passed: boolean | null, scorer: string): TraceEvent[] {
  const value = passed === null ? null : passed ? 1 : 0;
  const data = [
    ['rollout.start', { batch, task: lease.task.id, attempt: lease.attempt, try: lease.try, rescores: lease.rescores }],
    ['rollout.lease', { epoch: lease.epoch, worker: 'w', how: 'fresh' }],
    ['score', { scorer, version: 'abc', value, passed, explanation: 'because' }],
    ['rollout.end', { ...endOf({ passed, reward: value }) }],
  ] as const;
  return data.map(
    ([kind, each], index) =>
      ({ seq: lease.last + 1 + index, v: TRACE_VERSION, at: 1_000 + index, kind, data: each }) as TraceEvent,
  );
}

async function score(
  store: Store,
  batch: string,
  lease: Lease,
  passed: boolean | null,
  scorer = 'judge',
): Promise<void> {
  const { rollout, epoch, last } = lease;
  const all = verdictEvents(batch, lease, passed, scorer);
  // The end comes in an append of its own.
  for (const events of [all.slice(0, 3), all.slice(3)]) {
    const from = events[0]?.seq ?? last;
    const result = await store.append({ rollout, epoch, from, events });
    if (!result.ok) throw new Error(`${result.code}: ${result.message}`);
  }
}

export function rescoringTests(subject: Subject): void {
  describe('a batch that rescores another one', () => {
    it('reads the old rollouts, and copies its verdicts to them without changing a reward', async () => {
      const store = subject.store();
      const old = await openBatch(store, 2, { attempts: 2 });
      for (const lease of await store.lease(old.session, 4)) await finish(store, old.batch, lease, {});
      const before = (await store.batch(old.batch))!.row;
      const again = await rescoring(store, old.batch, { attempts: 2 });
      const row = (await store.batch(again.batch))!.row;
      assert.deepEqual([row.rescores, row.tasks, row.counts.queued], [old.batch, 2, 4]);
      const other = subject.other();
      for (const lease of await other.lease(again.session, 4)) {
        const origin = (await store.rollout(lease.rescores!.rollout))!;
        assert.equal(origin.row.task, lease.task.id);
        assert.deepEqual([lease.rescores!.seq, lease.last], [origin.row.last, origin.row.last]);
        assert.deepEqual(lease.lineage, [{ rollout: origin.row.rollout, to: origin.row.last }]);
        await score(other, again.batch, lease, lease.attempt === 1);
        const [{ progress }, scored] = [
          (await store.rollout(origin.row.rollout))!.row,
          (await store.rollout(lease.rollout))!,
        ];
        assert.deepEqual([progress.passed, progress.reward], [true, 1], 'the reward stays');
        const { at, ...verdict } = progress.verdicts!['judge']!;
        assert.ok(at > 0);
        assert.deepEqual(verdict, {
          value: lease.attempt === 1 ? 1 : 0,
          passed: lease.attempt === 1,
          version: 'abc',
          by: 'ada',
          run: lease.rollout,
        });
        assert.deepEqual(
          [scored.row.rescores, scored.lineage, scored.row.progress.verdicts],
          [origin.row.rollout, lease.lineage, undefined],
        );
      }
      const after = (await store.batch(old.batch))!.row;
      assert.deepEqual([after.counts, after.state], [before.counts, 'ended']);
      assert.ok(after.rev > before.rev, 'pages notice the verdicts');
      assert.equal((await store.batch(again.batch))!.row.state, 'ended');
      const scores = (await eventsOf(store, old.batch)).filter((event) => event.kind === 'score');
      assert.equal(scores.length, 4);
      assert.deepEqual(
        { ...scores[0]!.data, rollout: '', run: '' },
        {
          scorer: 'judge',
          version: 'abc',
          value: 1,
          passed: true,
          explanation: 'because',
          by: 'ada',
          rollout: '',
          run: '',
        },
      );
    });

    it('has exactly one verdict per rollout, also after repeated appends and lost tries', async () => {
      const store = subject.store();
      const old = await openBatch(store, 1, { attempts: 1 });
      for (const lease of await store.lease(old.session, 1)) await finish(store, old.batch, lease, {});
      const again = await rescoring(store, old.batch, { attempts: 1, retries: 1 });
      const [lost] = await store.lease(again.session, 1);
      await finish(store, again.batch, lost!, { status: 'infrastructure', passed: null, reward: null });
      const [lease] = await store.lease(again.session, 1);
      assert.deepEqual([lease?.try, lease?.rescores, lease?.last], [2, lost?.rescores, lost?.last]);
      await score(store, again.batch, lease!, null);
      await score(store, again.batch, lease!, null);
      const verdicts = (await eventsOf(store, old.batch)).flatMap((event) =>
        event.kind === 'score' ? [[event.data.value, event.data.run]] : [],
      );
      assert.deepEqual(verdicts, [[null, lease!.rollout]]);
    });

    it('keeps the batch that it reads, and accepts only its ended rollouts', async () => {
      const store = await subject.fresh();
      const old = await openBatch(store, 1, { attempts: 2 });
      const [one, two] = await store.lease(old.session, 2);
      await finish(store, old.batch, one!, {});
      const spec = newBatch({ attempts: 2, rescores: { batch: old.batch, by: 'ada' } });
      await store.createBatch(spec);
      const add = (rollout: string): Promise<void> =>
        store.addRescored(spec.id, 0, [{ task: one!.task, rollouts: [{ attempt: 1, rollout }] }]);
      for (const id of [two!.rollout, newId('r')])
        await assert.rejects(add(id), (error) => StudioError.is(error, 'conflict') && error.message.includes(id));
      await add(one!.rollout);
      await add(one!.rollout);
      assert.equal((await store.batch(spec.id))!.row.counts.queued, 1);
      await store.seal(spec.id);
      await finish(store, old.batch, two!, {});
      assert.deepEqual((await store.gc({ batches: [old.batch], dryRun: false })).kept, [
        { batch: old.batch, why: `batch ${spec.id} reads it` },
      ]);
      await store.closeRollouts({ batch: spec.id }, { status: 'cancelled', reason: 'enough' }, false);
      const [closed] = (await store.rollouts(spec.id, { limit: 9 })).rollouts;
      const [start] = await eventsOf(store, closed!.rollout);
      const { last } = (await store.rollout(one!.rollout))!.row;
      assert.deepEqual(
        [start?.kind, start?.seq, start?.kind === 'rollout.start' ? start.data.rescores : undefined],
        ['rollout.start', last + 1, { rollout: one!.rollout, seq: last }],
      );
      assert.ok(!(await eventsOf(store, old.batch)).some(({ kind }) => kind === 'score'));
      assert.equal((await store.gc({ olderThanMs: 0, dryRun: false })).batches.length, 2);
    });
  });

  describe('labels', () => {
    it('are verdicts of people: the newest of each is in the row, and all are in the stream', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1, { attempts: 1 });
      const [lease] = await store.lease(session, 1);
      const { rollout } = lease!;
      const label = (passed: boolean, by: string): Promise<number> =>
        addVerdict(store, batch, { rollout, scorer: `person:${by}`, by, value: passed ? 1 : 0, passed });
      await assert.rejects(label(true, 'ada'), (error) => StudioError.is(error, 'conflict'));
      await finish(store, batch, lease!, { passed: false });
      await label(true, 'ada');
      await addVerdict(subject.other(), batch, { rollout, scorer: 'person:bo', by: 'bo', value: null, passed: null });
      await label(false, 'ada');
      const { progress } = (await store.rollout(rollout))!.row;
      assert.deepEqual(
        Object.entries(progress.verdicts!).map(([name, { passed }]) => [name, passed]),
        [
          ['person:ada', false],
          ['person:bo', null],
        ],
      );
      assert.equal((await eventsOf(store, batch)).filter(({ kind }) => kind === 'score').length, 3);
      const another = await openBatch(store, 1, { attempts: 1 });
      await assert.rejects(
        addVerdict(store, another.batch, { rollout, scorer: 'x', value: 1, passed: true }),
        (error) => StudioError.is(error, 'not_found'),
      );
    });
  });
}
