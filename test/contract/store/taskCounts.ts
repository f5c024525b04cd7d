import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NewBatch, Store } from '../../../src/store/store.ts';
import { type Ending, finish, newBatch, newSession, openBatch, tasks } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

const FAILED: Ending = { passed: false, reward: 0 };

type Rates = Parameters<Store['addTasks']>[3];

/** A batch with two tasks whose band is 10% to 90%, and a session for it. */
async function banded(
  store: Store,
  { rates, refresh = 2, ...over }: Partial<NewBatch> & { rates?: Rates; refresh?: number },
): Promise<{ batch: string; session: string }> {
  const curriculum = { by: 'b-old', kept: 2, unknown: 0, too_hard: 0, too_easy: 0, keep: [0.1, 0.9], refresh } as const;
  const spec = newBatch({ curriculum: { ...curriculum, keep: [0.1, 0.9] }, order: 'depth', retries: 0, ...over });
  await store.createBatch(spec);
  await store.addTasks(spec.id, 0, tasks(2), rates);
  if (spec.group === undefined) await store.seal(spec.id);
  const session = newSession(spec.id);
  await store.openSession(session);
  return { batch: spec.id, session: session.session };
}

/** Leases one rollout, and ends it. Returns its task and attempt. */
async function next(store: Store, batch: string, session: string, ending: Ending = {}): Promise<string | undefined> {
  const [lease] = await store.lease(session, 1);
  if (lease === undefined) return undefined;
  await finish(store, batch, lease, ending);
  return `${lease.task.id}.${lease.attempt}`;
}

/** Tasks outside, their scored attempts in this batch, and how often tasks moved. */
async function band(store: Store, batch: string): Promise<readonly (number | undefined)[]> {
  const { outside: tasks, outside_attempts: attempts, moves } = (await store.batch(batch))?.row.curriculum ?? {};
  return [tasks, attempts, moves];
}

const outside = async (store: Store, batch: string): Promise<number | undefined> =>
  (await store.batch(batch))?.row.curriculum?.outside;

export function taskCountTests(subject: Subject): void {
  describe('the band of a curriculum', () => {
    it('moves after each so many scored attempts; a task outside begins none, whichever server leases', async () => {
      const store = subject.store();
      const { batch, session } = await banded(store, { attempts: 3 });
      assert.equal(await next(store, batch, session), 't0.1');
      assert.equal(await outside(store, batch), 0, 'not counted yet');
      assert.equal(await next(store, batch, session), 't0.2');
      assert.deepEqual(await band(store, batch), [1, 2, 1], '2 of 2 are more than 90%');
      assert.equal(await next(subject.other(), batch, session, FAILED), 't1.1');
      assert.equal(await next(store, batch, session), 't1.2');
      assert.equal(await next(store, batch, session), 't1.3', '1 of 2 is inside');
      assert.equal(await next(store, batch, session), undefined);
      assert.deepEqual((await store.batchProgress(batch)).unneeded, [
        { task: 't0', why: 'curriculum.keep: 2 of its 2 attempts passed, outside 10% to 90%.' },
      ]);
      await store.closeRollouts({ batch, task: 't0' }, { status: 'cancelled', reason: 'the band' }, false);
      const { row } = (await store.batch(batch))!;
      assert.deepEqual([row.state, row.counts.cancelled, row.counts.passed], ['ended', 1, 4]);
      assert.equal((await store.batchProgress(batch)).unneeded, undefined, 'nothing waits any more');
      const bodies = (await store.read(batch, 0, 100_000)).map(({ body }) => body).join('\n');
      assert.match(bodies, /Curriculum: 1 too easy; 1 task outside 10% to 90% now\./);
    });

    it('counts the attempts of the earlier batch too', async () => {
      const store = subject.store();
      const rates = { t0: { passed: 0, scored: 4 }, t1: { passed: 17, scored: 18 } };
      const { batch, session } = await banded(store, { attempts: 2, rates });
      assert.equal(await next(store, batch, session), 't0.1');
      assert.equal(await next(store, batch, session), 't0.2');
      assert.deepEqual(
        await band(store, batch),
        [1, 0, 1],
        't1 is outside by its earlier attempts, t0 (2 of 6) is not',
      );
      assert.equal(await next(store, batch, session), undefined);
    });

    it('takes a task back when attempts that ran move its rate', async () => {
      const store = subject.store();
      const { batch, session } = await banded(store, { attempts: 4 });
      const leases = await store.lease(session, 3);
      await finish(store, batch, leases[0]!);
      await finish(store, batch, leases[1]!);
      assert.equal(await outside(store, batch), 1);
      const [other] = await store.lease(session, 1);
      assert.equal(other?.task.id, 't1');
      assert.equal((await store.batchProgress(batch)).unneeded, undefined, 'it may come back');
      assert.deepEqual(await band(store, batch), [1, 2, 1]);
      await finish(store, batch, leases[2]!, FAILED);
      assert.deepEqual(await band(store, batch), [1, 3, 1], 'one that ran while its task was outside');
      await finish(store, batch, other, FAILED);
      assert.deepEqual(await band(store, batch), [1, 1, 2], 't0 is back, and t1 is too hard');
      assert.equal(await next(store, batch, session, FAILED), 't0.4', '2 of 3 are inside again');
      assert.match(
        (await store.read(batch, 0, 100_000)).map(({ body }) => body).join('\n'),
        /Curriculum: 1 too hard, 1 back; 1 task outside/,
      );
    });

    it('gives adaptive tasks further attempts only inside', async () => {
      const store = subject.store();
      const adaptive = { least: 2, until: 'informative' } as const;
      const { batch, session } = await banded(store, { attempts: 6, adaptive });
      for (const task of ['t0.1', 't0.2']) assert.equal(await next(store, batch, session), task);
      assert.equal(await next(store, batch, session), 't1.1');
      assert.equal(await next(store, batch, session, FAILED), 't1.2');
      const { row } = (await store.batch(batch))!;
      assert.deepEqual([row.state, row.counts.passed, row.counts.failed], ['ended', 3, 1]);
    });

    it('refuses new groups of a task outside, and ends those that it has', async () => {
      const store = subject.store();
      const group = { size: 2, extra: 0, estimator: 'ms_swift', stale: 'mark' } as const;
      const { batch, session } = await banded(store, { group });
      const request = { task: 't0', size: 2, extra: 0, min_usable: 2, priority: 0 };
      await store.addGroup(batch, 'g1', request);
      await store.addGroup(batch, 'g2', request);
      for (const attempt of ['g1.1', 'g1.2']) assert.equal(await next(store, batch, session), attempt);
      assert.equal(await outside(store, batch), 1);
      await assert.rejects(store.addGroup(batch, 'g3', request), {
        code: 'conflict',
        message:
          `Batch ${batch} begins no more groups of task "t0". curriculum.keep: 2 of its 2 attempts passed, outside ` +
          '10% to 90%.',
        details: { closed: 'band' },
      });
      assert.equal((await store.addGroup(batch, 'g2', request)).state, 'open', 'a repeat is no new group');
      await store.addGroup(batch, 'other', { ...request, task: 't1' });
      for (const attempt of ['g2.1', 'g2.2']) assert.equal(await next(store, batch, session, FAILED), attempt);
      assert.equal(await outside(store, batch), 0, '2 of 4');
      assert.equal((await store.addGroup(batch, 'g3', request)).open, 2);
    });
  });

  describe('a budget by task', () => {
    it('begins no attempt of a task after its attempts used it', async () => {
      const store = subject.store();
      const spec = newBatch({ attempts: 3, task_tokens: 30, order: 'depth' });
      await store.createBatch(spec);
      await store.addTasks(spec.id, 0, tasks(2));
      await store.seal(spec.id);
      const session = newSession(spec.id);
      await store.openSession(session);
      const batch = spec.id;
      const begun: (string | undefined)[] = [];
      for (let index = 0; index < 5; index++) begun.push(await next(store, batch, session.session));
      assert.deepEqual(begun, ['t0.1', 't0.2', 't1.1', 't1.2', undefined], 'each uses 15 tokens');
      assert.deepEqual((await store.batch(batch))?.row.budget, { tokens: 30, spent: 2 });
      const why = 'stop.tokens_per_task: its attempts used 30 tokens (limit 30).';
      assert.deepEqual((await subject.other().batchProgress(batch)).unneeded, [
        { task: 't0', why },
        { task: 't1', why },
      ]);
    });

    it('may be a cost, also with side models and prices of a fraction', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 2, { attempts: 4, task_cost: 0.3, order: 'depth' });
      const begun: (string | undefined)[] = [];
      for (let index = 0; index < 6; index++)
        begun.push(await next(store, batch, session, { cost: 0.1, sideCost: 0.05 }));
      assert.deepEqual(begun, ['t0.1', 't0.2', 't1.1', 't1.2', undefined, undefined]);
      assert.deepEqual((await store.batch(batch))?.row.budget, { cost: 0.3, spent: 2 });
      const why = 'stop.cost_per_task: its attempts cost 0.30 (limit 0.30).';
      assert.deepEqual((await subject.other().batchProgress(batch)).unneeded, [
        { task: 't0', why },
        { task: 't1', why },
      ]);
    });

    it('ends what a task outside the band has left', async () => {
      const store = subject.store();
      const { batch, session } = await banded(store, { attempts: 4, task_tokens: 45 });
      const leases = await store.lease(session, 3);
      for (const lease of leases.slice(0, 2)) await finish(store, batch, lease);
      assert.deepEqual(await band(store, batch), [1, 2, 1]);
      await finish(store, batch, leases[2]!);
      assert.deepEqual(await band(store, batch), [0, 0, 1], 'its budget closes it, for good');
      assert.equal((await store.batch(batch))?.row.budget?.spent, 1);
    });

    it('is of all groups of a task', async () => {
      const store = subject.store();
      const group = { size: 2, extra: 0, estimator: 'ms_swift', stale: 'mark' } as const;
      const { batch, session } = await banded(store, { group, task_tokens: 45, refresh: 100 });
      const request = { task: 't0', size: 2, extra: 0, min_usable: 2, priority: 0 };
      for (const name of ['g1', 'g2']) await store.addGroup(batch, name, request);
      for (const attempt of ['g1.1', 'g1.2', 'g2.1']) assert.equal(await next(store, batch, session), attempt);
      await assert.rejects(store.addGroup(batch, 'g3', request), { code: 'conflict', details: { closed: 'budget' } });
      const { unneeded = [] } = await store.batchProgress(batch);
      assert.deepEqual(
        unneeded.map(({ task }) => task),
        ['g2'],
      );
      await store.closeRollouts({ batch, task: 'g2' }, { status: 'cancelled', reason: unneeded[0]!.why }, false);
      const [, second] = (await store.groups(batch, { limit: 10 })).groups;
      assert.deepEqual([second?.state, second?.scored], ['failed', 1]);
    });
  });
}
