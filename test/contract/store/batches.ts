import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import {
  eventsOf,
  finish,
  newBatch,
  newSession,
  openBatch,
  shaOf,
  task,
  tasks,
  wholeRollout,
} from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

const conflict = (error: unknown): boolean => StudioError.is(error, 'conflict');
const notFound = (error: unknown): boolean => StudioError.is(error, 'not_found');

export function batchTests(subject: Subject): void {
  describe('batches', () => {
    it('creates a batch once, and records that in its stream', async () => {
      const store = subject.store();
      const spec = newBatch({ attempts: 3 });
      await store.createBatch(spec);
      await store.createBatch(spec);
      await assert.rejects(store.createBatch({ ...spec, submission: shaOf('other') }), conflict);
      const record = await store.batch(spec.id);
      assert.equal(record?.row.state, 'open');
      assert.deepEqual(record.spec, spec);
      assert.deepEqual(
        (await eventsOf(store, spec.id)).map(({ seq, kind }) => [seq, kind]),
        [[1, 'batch.start']],
      );
      assert.equal(await store.batch('b-none'), undefined);
    });

    it('takes tasks by index, in order, once', async () => {
      const store = subject.store();
      const spec = newBatch({ attempts: 3 });
      await store.createBatch(spec);
      await store.addTasks(spec.id, 0, tasks(2));
      await store.addTasks(spec.id, 0, tasks(3)); // overlaps
      await store.addTasks(spec.id, 1, tasks(2).slice(1)); // a repeat
      await assert.rejects(store.addTasks(spec.id, 4, [task('t9')]), conflict);
      await assert.rejects(store.addTasks(spec.id, 1, [task('other')]), conflict);
      await assert.rejects(store.addTasks(spec.id, 3, [task('t0')]), conflict, 'an id twice');
      await assert.rejects(store.addTasks(spec.id, 3, [task('')]), (error) => StudioError.is(error, 'usage'));
      await assert.rejects(store.addTasks('b-none', 0, tasks(1)), notFound);
      assert.equal((await store.batch(spec.id))?.row.counts.queued, 9);
      const first = await store.tasks(spec.id, { limit: 2 });
      assert.deepEqual(
        first.tasks.map(({ id }) => id),
        ['t0', 't1'],
      );
      assert.equal(first.next, 1);
      const rest = await store.tasks(spec.id, { limit: 2, after: 1 });
      assert.deepEqual([rest.tasks.map(({ id }) => id), rest.next], [['t2'], undefined]);
      assert.deepEqual(await store.task(spec.id, 2), task('t2'));
      assert.equal(await store.task(spec.id, 3), undefined);
      await store.seal(spec.id);
      await assert.rejects(store.addTasks(spec.id, 3, [task('t3')]), conflict);
      await store.addTasks(spec.id, 2, [task('t2')]);
    });

    it('keeps any text in a task: NUL, lone surrogates, quotes', async () => {
      const store = subject.store();
      const spec = newBatch({ attempts: 1 });
      const odd = task('a\0b\ud800"\'\\é\u2028', { question: '\0 \udfff $1 ? :x', answer: { '\0': ['\ud83d', '😀'] } });
      await store.createBatch(spec);
      await store.addTasks(spec.id, 0, [odd]);
      assert.deepEqual(await store.task(spec.id, 0), odd);
      const page = await store.rollouts(spec.id, { limit: 5, task: odd.id });
      assert.deepEqual(
        page.rollouts.map((row) => row.task),
        [odd.id],
      );
      assert.deepEqual((await store.rollouts(spec.id, { limit: 5, task: 'a\0' })).rollouts, []);
    });

    it('adds many tasks, with all their attempts', async () => {
      const store = subject.store();
      const spec = newBatch({ attempts: 7 });
      await store.createBatch(spec);
      await store.addTasks(spec.id, 0, tasks(900));
      const ids = new Set<string>();
      let pages = 0;
      for (let after: string | undefined; ; pages++) {
        const page = await store.rollouts(spec.id, { limit: 1000, ...(after === undefined ? {} : { after }) });
        for (const row of page.rollouts) ids.add(row.rollout);
        if (page.next === undefined) break;
        after = page.next;
      }
      assert.equal(ids.size, 6300);
      assert.equal(pages, 6);
      await assert.rejects(store.rollouts(spec.id, { limit: 1, after: 'nonsense' }), (error) =>
        StudioError.is(error, 'usage'),
      );
    });

    it('lists batches, newest first', async () => {
      const store = subject.store();
      const specs = [newBatch(), newBatch(), newBatch()];
      for (const spec of specs) await store.createBatch(spec);
      const first = await store.batches({ limit: 2 });
      assert.deepEqual(
        first.batches.map(({ batch }) => batch),
        [specs[2]!.id, specs[1]!.id],
      );
      assert.equal(first.next, specs[1]!.id);
      const second = await store.batches({ limit: 1, before: specs[1]!.id });
      assert.equal(second.batches[0]?.batch, specs[0]!.id);
    });

    it('lists open batches by priority, then age', async () => {
      const store = await subject.fresh();
      const specs = [newBatch({ priority: 0 }), newBatch({ priority: 5 }), newBatch({ priority: 0 })];
      for (const spec of specs) await store.createBatch(spec);
      await store.seal(specs[2]!.id);
      assert.deepEqual(
        (await store.activeBatches()).map(({ spec }) => spec.id),
        [specs[1]!.id, specs[0]!.id],
      );
    });

    it('ends a sealed batch with nothing to do, and records why', async () => {
      const store = subject.store();
      const spec = newBatch();
      await store.createBatch(spec);
      await store.seal(spec.id);
      await store.seal(spec.id);
      const row = (await store.batch(spec.id))?.row;
      assert.deepEqual([row?.state, row?.reason], ['ended', 'done']);
      assert.deepEqual(
        (await eventsOf(store, spec.id)).map(({ kind }) => kind),
        ['batch.start', 'batch.end'],
      );
      await assert.rejects(store.setPaused(spec.id, true), conflict);
      await assert.rejects(store.stop(spec.id, 'late'), conflict);
      await assert.rejects(store.seal('b-none'), notFound);
    });

    it('pauses: nothing is leased until it is resumed', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1);
      await store.setPaused(batch, true);
      assert.equal((await store.batch(batch))?.row.state, 'paused');
      assert.deepEqual(await store.lease(session, 5), []);
      const stands = async (): Promise<unknown[]> => {
        const record = await store.batch(batch);
        return [record?.paused, record?.released, record?.row.released];
      };
      assert.deepEqual(await stands(), [true, false, undefined]);
      await store.setPaused(batch, true, true);
      await store.setPaused(batch, true); // a repeat is not an event
      assert.deepEqual(
        [await stands(), (await store.batch(batch))?.row.state, await store.lease(session, 5)],
        [[true, true, true], 'paused', []],
      );
      await store.setPaused(batch, false);
      assert.deepEqual(await stands(), [false, false, undefined]);
      assert.equal((await store.lease(session, 5)).length, 2);
    });

    it('stops: running rollouts may finish, nothing is retried, and the reason is kept', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 2, { attempts: 1 });
      const [lease] = await store.lease(session, 1);
      await store.stop(batch, 'too many failures');
      await store.stop(batch, 'another reason');
      assert.equal((await store.batch(batch))?.stopping, 'too many failures');
      assert.deepEqual(await store.lease(session, 5), []);
      await finish(store, batch, lease!, { status: 'infrastructure', passed: null });
      assert.equal((await store.batch(batch))?.row.state, 'running');
      assert.equal((await store.closeRollouts({ batch }, { status: 'cancelled', reason: 'stopped' }, false)).length, 1);
      const row = (await store.batch(batch))?.row;
      assert.deepEqual([row?.state, row?.reason], ['ended', 'too many failures']);
      assert.deepEqual([row?.counts.infrastructure, row?.counts.cancelled, row?.counts.queued], [1, 1, 0]);
      assert.equal(await store.retry(batch), 2);
      assert.equal((await store.batch(batch))?.row.state, 'running');
      assert.equal((await store.lease(session, 5)).length, 2);
    });

    it('keeps breakpoints, and grants a claim to the first', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1);
      const [one, two] = await store.lease(session, 2);
      await store.setBreakpoints(batch, [{ id: 'x', when: 'tool.name == "\0"' }]);
      assert.deepEqual((await store.batch(batch))?.breakpoints, [{ id: 'x', when: 'tool.name == "\0"' }]);
      const claims = await Promise.all([
        store.claim(batch, 'x\0', one!.rollout),
        subject.other().claim(batch, 'x\0', two!.rollout),
      ]);
      assert.deepEqual(claims.toSorted(), [false, true]);
      const winner = claims[0] ? one! : two!;
      assert.equal(
        await store.claim(batch, 'x\0', winner.rollout),
        true,
        'a repeated request, after a lost answer, gets it again',
      );
      assert.equal(await store.claim(batch, 'y', two!.rollout), true);
    });

    it('appends events to the batch stream in order, whoever reports them', async () => {
      const store = subject.store();
      const spec = newBatch();
      await store.createBatch(spec);
      const seqs = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (n % 2 === 0 ? store : subject.other()).addBatchEvent(spec.id, 'note', { text: `n${n} \0\ud800`, by: 'me' }),
        ),
      );
      assert.deepEqual(
        seqs.toSorted((a, b) => a - b),
        Array.from({ length: 20 }, (_, n) => n + 2),
      );
      const events = await eventsOf(store, spec.id);
      assert.deepEqual(
        events.map(({ seq }) => seq),
        Array.from({ length: 21 }, (_, n) => n + 1),
      );
      for (let n = 1; n < events.length; n++) assert.ok(events[n]!.at >= events[n - 1]!.at);
      assert.equal((await store.batch(spec.id))?.row.last, 21);
      await assert.rejects(store.addBatchEvent('b-none', 'note', { text: '', by: '' }), notFound);
    });

    it('imports finished streams, whole or in parts', async () => {
      const store = subject.store();
      const spec = newBatch({ imported: true, attempts: 2 });
      await store.createBatch(spec);
      await store.addTasks(spec.id, 0, tasks(2));
      assert.deepEqual((await store.rollouts(spec.id, { limit: 9 })).rollouts, []);
      const as = (n: number, attempt: number, passed: boolean) => ({
        rollout: `r-${spec.id}-${n}-${attempt}`,
        task: `t${n}`,
        attempt,
        events: wholeRollout(1, { epoch: 1, attempt, try: 1, task: { id: `t${n}` } }, spec.id, { passed, steps: 2 }),
      });
      await store.importRollouts(spec.id, [as(0, 1, true), as(0, 2, false)]);
      await store.importRollouts(spec.id, [as(0, 1, true)]); // a repeat
      const long = as(1, 1, true);
      await store.importRollouts(spec.id, [{ ...long, events: long.events.slice(0, 3) }]);
      assert.equal((await store.rollout(long.rollout))?.row.state, 'running');
      await store.importRollouts(spec.id, [{ ...long, from: 4, events: long.events.slice(3) }]);
      await assert.rejects(store.importRollouts(spec.id, [{ ...as(0, 2, true), rollout: 'r-another' }]), conflict);
      await assert.rejects(
        store.importRollouts(spec.id, [{ ...as(1, 2, true), from: 2, events: as(1, 2, true).events.slice(1) }]),
        conflict,
      );
      await assert.rejects(store.importRollouts(spec.id, [{ ...as(1, 2, true), task: 'none' }]), notFound);
      await store.seal(spec.id);
      const row = (await store.batch(spec.id))?.row;
      assert.equal(row?.state, 'ended');
      assert.deepEqual(
        [row.counts.passed, row.counts.failed, row.counts.queued, row.counts.running, row.steps],
        [2, 1, 1, 0, 6],
      );
      assert.equal((await eventsOf(store, long.rollout)).length, long.events.length);
      const { batch } = await openBatch(store, 1);
      await assert.rejects(store.importRollouts(batch, [as(0, 1, true)]), conflict);
      await assert.rejects(store.retry(spec.id), conflict);
    });

    it('returns the counts that stop rules need', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 2, { attempts: 3, order: 'depth' });
      for (const lease of await store.lease(session, 2)) await finish(store, batch, lease, { steps: 2 });
      assert.deepEqual(await store.batchProgress(batch), { settled: 2, failed: 0, tokens: 60, satisfied: [] });
      assert.deepEqual((await store.batchProgress(batch, 2)).satisfied, ['t0']);
      assert.deepEqual((await store.batchProgress(batch, 3)).satisfied, []);
      assert.deepEqual(
        await store
          .closeRollouts({ batch, task: 't0' }, { status: 'cancelled', reason: 'enough' }, false)
          .then((ids) => ids.length),
        1,
      );
      assert.deepEqual((await store.batchProgress(batch, 2)).satisfied, [], 'it has no open attempts any more');
      const [next] = await store.lease(session, 1);
      await finish(store, batch, next!, { passed: false });
      const { settled, failed } = await store.batchProgress(batch);
      assert.deepEqual([settled, failed], [3, 1]);
      await assert.rejects(store.batchProgress('b-none'), notFound);
    });

    it('counts queued, running, and held rollouts', async () => {
      const store = await subject.fresh();
      const { session } = await openBatch(store, 2, { attempts: 2 });
      await store.lease(session, 1);
      assert.deepEqual(await store.counts(), { queued: 3, running: 1, held: 0 });
      assert.deepEqual(await store.totals(), {
        batches: { open: 0, running: 1, paused: 0, ended: 0 },
        settled: { passed: 0, failed: 0, unscored: 0, cancelled: 0, infrastructure: 0 },
      });
      const ended = await openBatch(store, 3, { attempts: 1 });
      const endings = [{}, { passed: false }, { passed: null, reward: null }];
      for (const lease of await store.lease(ended.session, 3)) await finish(store, ended.batch, lease, endings.shift());
      const open = newBatch();
      await store.createBatch(open);
      await store.setPaused((await openBatch(store, 1)).batch, true);
      assert.deepEqual(await store.totals(), {
        batches: { open: 1, running: 1, paused: 1, ended: 1 },
        settled: { passed: 1, failed: 1, unscored: 1, cancelled: 0, infrastructure: 0 },
      });
      const more = newSession('b-none');
      await assert.rejects(store.openSession(more), notFound);
    });
  });
}
