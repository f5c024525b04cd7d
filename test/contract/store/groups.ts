import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { StudioError } from '../../../src/common/errors.ts';
import type { GroupSettings } from '../../../src/protocol/groups.ts';
import type { GroupRequest } from '../../../src/store/groupStore.ts';
import type { Lease, NewBatch, Store } from '../../../src/store/store.ts';
import { eventsOf, finish, newBatch, newSession, task, tasks } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

const LOST = { status: 'infrastructure', passed: null, reward: null } as const;

function request(over: Partial<GroupRequest> = {}): GroupRequest {
  return { task: 't0', size: 2, extra: 0, min_usable: 2, priority: 0, ...over };
}

/** An open batch for groups with a dataset, and a session for it. */
async function groupBatch(store: Store, over: Partial<NewBatch> = {}): Promise<{ batch: string; session: string }> {
  const group: GroupSettings = { size: 2, extra: 0, estimator: 'ms_swift', stale: 'mark' };
  const spec = newBatch({ group, retries: 0, ...over });
  await store.createBatch(spec);
  await store.addTasks(spec.id, 0, tasks(3));
  const session = newSession(spec.id);
  await store.openSession(session);
  return { batch: spec.id, session: session.session };
}

async function groupOf(store: Store, batch: string, group: string) {
  const { groups } = await store.groups(batch, { group, limit: 10 });
  assert.equal(groups.length, 1);
  return groups[0]!;
}

const inOrder = (leases: readonly Lease[]): string[] => leases.map((lease) => `${lease.task.id}.${lease.attempt}`);

async function countsOf(store: Store, batch: string): Promise<Record<string, number>> {
  const { counts } = (await store.batch(batch))!.row;
  return Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0));
}

async function replacedOf(store: Store, batch: string): Promise<string[]> {
  const { rollouts } = await store.rollouts(batch, { limit: 500 });
  return rollouts.filter(({ progress }) => progress.replaced === true).map(({ rollout }) => rollout);
}

export function groupTests(subject: Subject): void {
  describe('groups', () => {
    it('repeat a task of the dataset, which has no attempts itself', async () => {
      const store = subject.store();
      const { batch, session } = await groupBatch(store);
      assert.deepEqual(await countsOf(store, batch), {});
      const row = await store.addGroup(batch, 'step-1', request());
      assert.deepEqual([row.task, row.index, row.state, row.open, row.scored], ['t0', 0, 'open', 2, 0]);
      await store.addGroup(batch, 'step-2', request());
      assert.deepEqual(await countsOf(store, batch), { queued: 4 });
      const leases = await store.lease(session, 10);
      assert.deepEqual(inOrder(leases), ['step-1.1', 'step-1.2', 'step-2.1', 'step-2.2']);
      assert.deepEqual(leases[0]!.task, { ...task('t0'), id: 'step-1', of: 't0' });
      const { tasks: listed } = await store.tasks(batch, { limit: 10 });
      assert.deepEqual(
        listed.map(({ id, of }) => [id, of]),
        [
          ['step-1', 't0'],
          ['step-2', 't0'],
        ],
      );
    });

    it('are requested once, whoever repeats it, and with one content', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch } = await groupBatch(store);
      const rows = await Promise.all(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? store : other).addGroup(batch, 'same', request())),
      );
      assert.equal(new Set(rows.map(({ index }) => index)).size, 1);
      assert.deepEqual(await countsOf(store, batch), { queued: 2 });
      await assert.rejects(
        other.addGroup(batch, 'same', request({ size: 3, min_usable: 3, task: 't1' })),
        (error) =>
          StudioError.is(error, 'conflict') &&
          error.message === `Group same already exists in batch ${batch} with another task, size, min_usable.`,
      );
      const whole = task('own', { answer: '42', meta: { level: 1 } });
      await store.addGroup(batch, 'whole', request({ task: whole }));
      await store.addGroup(batch, 'whole', request({ task: structuredClone(whole) }));
      await assert.rejects(
        store.addGroup(batch, 'whole', request({ task: { ...whole, answer: '43' } })),
        /another task/,
      );
      assert.equal((await groupOf(store, batch, 'whole')).task, 'own');
    });

    it('are counted when they are requested again, with few events however often that is', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch } = await groupBatch(store);
      const repeated = async () => (await store.batch(batch))!.row.repeated;
      await store.addGroup(batch, 'one', request());
      assert.equal(await repeated(), undefined);
      await Promise.all(['two', 'one', 'two'].map((group) => store.addGroup(batch, group, request())));
      assert.deepEqual(await repeated(), { groups: 2, requests: 2 });
      const different = store.addGroup(batch, 'one', request({ size: 3, min_usable: 3 }));
      await assert.rejects(different, (error) => StudioError.is(error, 'conflict'));
      assert.deepEqual(await repeated(), { groups: 2, requests: 2 }, 'another body is no repeat');
      for (let n = 0; n < 30; n++) await (n % 2 === 0 ? store : other).addGroup(batch, 'two', request());
      assert.deepEqual(await repeated(), { groups: 2, requests: 32 });
      const infra = (await eventsOf(store, batch)).flatMap(({ kind, data }) => (kind === 'infra' ? [data] : []));
      assert.deepEqual(
        infra.map(({ what, group, count }) => [what, group, count]),
        [2, 4, 8, 16, 32].map((count) => ['group_repeated', 'two', count]),
      );
      assert.equal(
        infra.at(-1)!.text,
        '32 requests for 2 groups that exist, the last one for two. Each was answered with the group that exists.',
      );
    });

    it('are refused for unknown tasks and batches, and by batches that are sealed or not for groups', async () => {
      const store = subject.store();
      const { batch } = await groupBatch(store);
      const refused = (name: string, over: Partial<GroupRequest>, code: 'conflict' | 'not_found', text: RegExp) =>
        assert.rejects(
          store.addGroup(name, 'g', request(over)),
          (error) => StudioError.is(error, code) && text.test(error.message),
        );
      await refused('bunknown', {}, 'not_found', /no batch bunknown/);
      await refused(batch, { task: 'missing' }, 'not_found', /no task "missing"/);
      const plain = newBatch();
      await store.createBatch(plain);
      await refused(plain.id, {}, 'conflict', /was not created for groups/);
      // One that is refused does not affect those that arrive with it.
      const [first, second] = await Promise.allSettled([
        store.addGroup(batch, 'bad', request({ task: 'missing' })),
        store.addGroup(batch, 'good', request()),
      ]);
      assert.deepEqual([first.status, second.status], ['rejected', 'fulfilled']);
      await store.seal(batch);
      await refused(batch, {}, 'conflict', /is sealed/);
      assert.equal((await store.addGroup(batch, 'good', request())).state, 'open', 'a repeat is answered');
    });

    it('are complete with the first members that have a reward; the others are cut', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch, session } = await groupBatch(store);
      await store.addGroup(batch, 'g', request({ extra: 2 }));
      const leases = await store.lease(session, 3);
      await finish(other, batch, leases[1]!, { passed: false, steps: 2 });
      assert.equal((await groupOf(store, batch, 'g')).scored, 1);
      assert.deepEqual(await store.finishedGroups(batch, 0, 10), []);
      await finish(store, batch, leases[0]!, {});
      const [done] = await other.finishedGroups(batch, 0, 10);
      assert.deepEqual(
        [done!.row.state, done!.row.why, done!.members],
        ['complete', undefined, [leases[0]!.rollout, leases[1]!.rollout]],
      );
      assert.deepEqual(
        done!.cut.map(({ attempt, state }) => [attempt, state]),
        [
          [3, 'running'],
          [4, 'queued'],
        ],
      );
      // The queued one has ended; the worker of the other one is told.
      const commands = await store.commandsFor(session);
      assert.deepEqual(
        commands.map(({ rollout, verb, args }) => [rollout, verb, args]),
        [[leases[2]!.rollout, 'cancel', { reason: 'Group g is complete.' }]],
      );
      assert.deepEqual(await countsOf(store, batch), { passed: 1, failed: 1, cancelled: 1, running: 1 });
      await finish(store, batch, leases[2]!, { status: 'cancelled', passed: null, reward: null });
      assert.deepEqual(await countsOf(store, batch), { passed: 1, failed: 1, cancelled: 2 });
      assert.equal(await store.retry(batch), 0, 'a group that was handed out needs no members');
      assert.equal((await store.finishedGroups(batch, done!.rev, 10)).length, 0);
      await store.seal(batch);
      assert.equal((await store.batch(batch))!.row.state, 'ended');
    });

    it('do not get back a cut member whose worker is lost', async () => {
      const store = subject.store();
      const { batch, session } = await groupBatch(store);
      await store.addGroup(batch, 'g', request({ size: 1, extra: 1, min_usable: 1 }));
      const [first, second] = await store.lease(session, 2);
      await finish(store, batch, first!, {});
      await store.endSession(session, 'the pod is gone');
      assert.deepEqual(await countsOf(store, batch), { passed: 1, cancelled: 1 });
      assert.equal((await eventsOf(store, second!.rollout)).at(-1)?.kind, 'rollout.end');
    });

    it('sample as they were requested, in every try', async () => {
      const store = subject.store();
      const { batch, session } = await groupBatch(store, { retries: 1 });
      const sampling = { temperature: 0.5 };
      const row = await store.addGroup(batch, 'g', request({ sampling }));
      assert.deepEqual(row.sampling, sampling);
      await store.addGroup(batch, 'h', request());
      const leases = await store.lease(session, 4);
      assert.deepEqual(
        leases.map((lease) => [lease.task.id, lease.sampling]),
        [
          ['g', sampling],
          ['g', sampling],
          ['h', undefined],
          ['h', undefined],
        ],
      );
      await finish(store, batch, leases[0]!, LOST);
      assert.deepEqual((await store.lease(session, 1))[0]?.sampling, sampling);
      await assert.rejects(store.addGroup(batch, 'g', request({ sampling: { temperature: 1 } })), /another sampling/);
    });

    it('replace members that infrastructure lost: by a new try, then by a new member', async () => {
      const store = subject.store();
      const { batch, session } = await groupBatch(store, { retries: 1 });
      await store.addGroup(batch, 'g', request());
      const [one, two] = await store.lease(session, 2);
      await finish(store, batch, one!, {});
      await finish(store, batch, two!, LOST);
      const [again] = await store.lease(session, 5);
      assert.deepEqual([again!.attempt, again!.try], [2, 2]);
      await finish(store, batch, again!, LOST);
      const [replacement] = await store.lease(session, 5);
      assert.deepEqual([replacement!.attempt, replacement!.try], [3, 1]);
      assert.deepEqual([again!.place, replacement!.place], [undefined, 2], 'it takes the place of the lost one');
      assert.deepEqual(await store.finishedGroups(batch, 0, 10), []);
      await finish(store, batch, replacement!, { passed: false });
      const [done] = await store.finishedGroups(batch, 0, 10);
      assert.deepEqual(
        [done!.row.state, done!.row.replaced, done!.members, done!.excluded],
        ['complete', 1, [one!.rollout, replacement!.rollout], [again!.rollout]],
      );
      assert.deepEqual(await countsOf(store, batch), { passed: 1, failed: 1, infrastructure: 1 });
    });

    it('fail when they can no longer become usable, and say why', async () => {
      const store = subject.store();
      const { batch, session } = await groupBatch(store);
      await store.addGroup(batch, 'g', request({ size: 1, min_usable: 1 }));
      for (let n = 0; n < 2; n++) {
        const [lease] = await store.lease(session, 5);
        await finish(store, batch, lease!, LOST);
      }
      const [lost] = await store.finishedGroups(batch, 0, 10);
      assert.equal(lost!.row.state, 'failed');
      assert.equal(
        lost!.row.why,
        'It can no longer become complete: 0 of 1 members have a reward (2 lost to infrastructure).',
      );
      // A reward that is no number is none, and never 0.
      await store.addGroup(batch, 'h', request({ size: 2, extra: 1, min_usable: 1 }));
      const leases = await store.lease(session, 5);
      await finish(store, batch, leases[0]!, { passed: null, reward: null });
      await finish(store, batch, leases[1]!, { passed: true, reward: null });
      await finish(store, batch, leases[2]!, { passed: false, reward: 0 });
      const [short] = await store.finishedGroups(batch, lost!.rev, 10);
      assert.deepEqual([short!.row.state, short!.members], ['short', [leases[2]!.rollout]]);
      assert.equal(
        short!.row.why,
        'It can no longer become complete: 1 of 2 members have a reward (2 without a reward).',
      );
    });

    it('end at their deadline, with what they have by then', async () => {
      const store = subject.store();
      const { batch, session } = await groupBatch(store);
      assert.equal(await store.nextDeadline(batch), undefined);
      for (const [group, minUsable] of [
        ['usable', 1],
        ['useless', 2],
      ] as const)
        await store.addGroup(batch, group, request({ min_usable: minUsable, deadline_s: 3 }));
      await store.addGroup(batch, 'later', request({ deadline_s: 3600 }));
      const leases = await store.lease(session, 3);
      await finish(store, batch, leases[0]!, {});
      await finish(store, batch, leases[2]!, {});
      const due = (await groupOf(store, batch, 'useless')).deadline_at!;
      while ((await store.now()) < due) await sleep(5);
      const next = await store.expireGroups(batch);
      assert.equal(next, (await groupOf(store, batch, 'later')).deadline_at);
      const done = await store.finishedGroups(batch, 0, 10);
      assert.deepEqual(
        done.map(({ row, members, cut }) => [row.group, row.state, row.why, members.length, cut.length]),
        [
          ['usable', 'short', 'Its deadline passed: 1 of 2 members have a reward (1 cut off).', 1, 1],
          ['useless', 'failed', 'Its deadline passed: 1 of 2 members have a reward (1 cut off).', 1, 1],
        ],
      );
      assert.deepEqual(
        (await store.commandsFor(session)).map(({ rollout }) => rollout),
        [leases[1]!.rollout],
      );
      assert.equal((await store.expireGroups(batch)) === next, true);
    });

    it('can be canceled, one or with their batch', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch, session } = await groupBatch(store);
      await store.addGroup(batch, 'one', request());
      await store.addGroup(batch, 'two', request());
      await store.lease(session, 1);
      assert.equal(await other.cancelGroup(batch, 'one', 'Cancelled by me.'), true);
      assert.equal(await store.cancelGroup(batch, 'one', 'again'), false);
      await assert.rejects(store.cancelGroup(batch, 'none', ''), (error) => StudioError.is(error, 'not_found'));
      await store.stop(batch, 'Enough.');
      await store.closeRollouts({ batch }, { status: 'cancelled', reason: 'Enough.' }, true);
      assert.deepEqual(
        (await store.finishedGroups(batch, 0, 10)).map(({ row }) => [row.group, row.state, row.why]),
        [
          ['one', 'cancelled', 'Cancelled by me: 0 of 2 members have a reward (2 cut off).'],
          ['two', 'cancelled', 'Enough: 0 of 2 members have a reward (2 canceled).'],
        ],
      );
      assert.equal((await store.batch(batch))!.row.state, 'ended');
    });

    it('keep the first answer of the filter, at the same place of the feed', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch, session } = await groupBatch(store);
      await store.addGroup(batch, 'g', request());
      const leases = await store.lease(session, 2);
      await assert.rejects(store.filterGroup(batch, 'g', { why: null, tokens: 1 }), /has not ended/);
      for (const lease of leases) await finish(store, batch, lease, {});
      const [before] = await store.finishedGroups(batch, 0, 10);
      assert.equal(before!.filtered, undefined);
      const left = { why: 'The filter “spread > 0” is false.\u0000', tokens: 20 };
      const answers = await Promise.all([
        store.filterGroup(batch, 'g', left),
        other.filterGroup(batch, 'g', { why: null, tokens: 20 }),
      ]);
      assert.deepEqual(answers[0], answers[1]);
      assert.deepEqual(await other.filterGroup(batch, 'g', { why: 'Another.', tokens: 7 }), answers[0]);
      const [group] = await other.finishedGroups(batch, 0, 10);
      assert.deepEqual([group!.rev, group!.members, group!.filtered], [before!.rev, before!.members, answers[0]]);
      assert.deepEqual(await other.finishedGroups(batch, group!.rev, 10), []);
      await store.addGroup(batch, 'h', request());
      for (const lease of await store.lease(session, 2)) await finish(store, batch, lease, {});
      assert.deepEqual(await store.filterGroup(batch, 'h', left), left);
      assert.deepEqual((await groupOf(other, batch, 'h')).filtered, left);
      const { filtered } = (await other.batch(batch))!.row.delivered!;
      const both = answers[0].why !== null;
      assert.deepEqual(filtered, { groups: both ? 2 : 1, tokens: both ? 40 : 20 }, 'each is counted once');
      await assert.rejects(store.filterGroup(batch, 'none', left), (error) => StudioError.is(error, 'not_found'));
    });

    it('find earlier groups of their task, and keep what was replayed with them', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch, session } = await groupBatch(store);
      const whole = task('t0', { answer: 'of the trainer' });
      for (const [name, of] of [
        ['a', 't0'],
        ['b', 't1'],
        ['c', whole],
        ['d', 't0'],
      ] as const) {
        await store.addGroup(batch, name, request({ task: of }));
        for (const lease of await store.lease(session, 2)) await finish(store, batch, lease, {});
      }
      await store.addGroup(batch, 'open', request());
      const names = async (page: { before?: number; limit: number }): Promise<string[]> =>
        (await other.earlierGroups(batch, 't0', page)).map(({ row }) => row.group);
      const ended = await store.finishedGroups(batch, 0, 10);
      const rev = (group: string): number => ended.find(({ row }) => row.group === group)!.rev;
      assert.deepEqual(await names({ limit: 10 }), ['d', 'c', 'a']);
      assert.deepEqual(await names({ before: rev('d'), limit: 10 }), ['c', 'a']);
      assert.deepEqual(await names({ before: rev('d'), limit: 2 }), ['c'], 'looks through two groups');
      assert.deepEqual(await names({ before: rev('a'), limit: 10 }), []);
      await assert.rejects(other.earlierGroups('b0', 't0', { limit: 1 }), (error) =>
        StudioError.is(error, 'not_found'),
      );

      const chosen = [{ batch, rollout: ended[0]!.members[0]!, behind: null }];
      assert.deepEqual(await store.replayGroup(batch, 'd', chosen), chosen);
      assert.deepEqual(await other.replayGroup(batch, 'd', []), chosen, 'the first answer stays');
      await store.filterGroup(batch, 'd', { why: null, tokens: 3 });
      assert.deepEqual(await store.replayGroup(batch, 'c', []), []);
      const [c, d] = await other.finishedGroups(batch, rev('b'), 10);
      assert.deepEqual([c!.replayed, d!.replayed, d!.filtered?.tokens, d!.rev], [[], chosen, 3, rev('d')]);
      assert.deepEqual([c!.row.replayed, d!.row.replayed], [undefined, 1]);
      assert.deepEqual((await store.batch(batch))!.row.delivered, {
        filtered: { groups: 0, tokens: 0 },
        replayed: { groups: 1, rollouts: 1 },
      });
    });

    it('wait for fresh members in place of those that are too old, once for all readers', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch, session } = await groupBatch(store);
      await store.addGroup(batch, 'g', request({ extra: 1, deadline_s: 3600, priority: 3 }));
      const [one, two, three] = await store.lease(session, 3);
      await finish(store, batch, one!, {});
      await finish(store, batch, two!, { passed: false });
      const [before] = await store.finishedGroups(batch, 0, 10);
      const delivery = { rev: before!.rev, stale: [one!.rollout] };
      const answers = await Promise.all([store, other].map((each) => each.deliverGroup(batch, 'g', delivery)));
      assert.deepEqual(answers, [false, false]);
      assert.deepEqual(await other.finishedGroups(batch, 0, 10), [], 'it is not in the feed');
      const waiting = await groupOf(other, batch, 'g');
      assert.deepEqual(
        [waiting.state, waiting.why, waiting.ended_at, waiting.scored, waiting.open, waiting.replaced, waiting.stale],
        ['open', undefined, undefined, 1, 2, 1, 1],
      );
      assert.deepEqual(await replacedOf(other, batch), [one!.rollout]);
      assert.equal(await store.nextDeadline(batch), waiting.deadline_at, 'its deadline counts again');
      await assert.rejects(store.filterGroup(batch, 'g', { why: null, tokens: 1 }), /has not ended/);
      // The member that was cut when the group was complete ends as canceled: it stays cut.
      await finish(store, batch, three!, { status: 'cancelled', passed: null, reward: null });
      assert.equal((await groupOf(store, batch, 'g')).state, 'open');
      const [fresh] = await store.lease(session, 5);
      assert.deepEqual([fresh!.attempt, fresh!.try, fresh!.place], [4, 1, 1], 'it takes the place of the old one');
      await finish(other, batch, fresh!, {});

      const [done] = await other.finishedGroups(batch, before!.rev, 10);
      assert.deepEqual(
        [done!.row.state, done!.row.why, done!.members, done!.excluded, done!.stale, done!.row.replaced],
        ['complete', undefined, [two!.rollout, fresh!.rollout], [one!.rollout], [one!.rollout], 1],
      );
      assert.deepEqual(
        done!.cut.map(({ rollout, state }) => [rollout, state]),
        [[three!.rollout, 'running']],
      );
      assert.deepEqual(await replacedOf(store, batch), [one!.rollout], 'pages and exports leave it out');
      assert.equal(await store.deliverGroup(batch, 'g', delivery), false, 'a reader that has its first end');
      assert.equal(await store.deliverGroup(batch, 'g', { rev: done!.rev, stale: [] }), true);
      const again = { rev: done!.rev, stale: [two!.rollout] };
      assert.equal(await other.deliverGroup(batch, 'g', again), true, 'a repeat never opens it again');
      const [same] = await other.finishedGroups(batch, 0, 10);
      assert.deepEqual([same!.rev, same!.members, same!.delivered], [done!.rev, done!.members, true]);
      assert.deepEqual(await countsOf(store, batch), { passed: 2, failed: 1, cancelled: 1 });
      await store.seal(batch);
      assert.equal((await store.batch(batch))!.row.state, 'ended');
    });

    it('count old members again if there is no time for others, and no more than they had are replaced', async () => {
      const store = subject.store();
      const { batch, session } = await groupBatch(store);
      const ended = async (group: string) =>
        (await store.finishedGroups(batch, 0, 10)).find(({ row }) => row.group === group)!;
      const finishAll = async (): Promise<string[]> => {
        const leases = await store.lease(session, 5);
        for (const lease of leases) await finish(store, batch, lease, {});
        return leases.map(({ rollout }) => rollout);
      };
      const deliver = async (group: string, stale: readonly string[]): Promise<boolean> =>
        store.deliverGroup(batch, group, { rev: (await ended(group)).rev, stale });

      await store.addGroup(batch, 'twice', request());
      for (let n = 0; n < 2; n++) assert.equal(await deliver('twice', (await finishAll()).slice(0, 1)), false);
      const [third] = await finishAll();
      assert.equal(await deliver('twice', [third!]), true, 'two were replaced');
      assert.deepEqual([(await ended('twice')).row.replaced, (await ended('twice')).members.length], [2, 2]);

      await store.addGroup(batch, 'late', request({ deadline_s: 3 }));
      const [old, young] = await finishAll();
      assert.equal(await deliver('late', [old!]), false);
      const due = (await groupOf(store, batch, 'late')).deadline_at!;
      while ((await store.now()) < due) await sleep(5);
      await store.expireGroups(batch);
      const late = await ended('late');
      assert.deepEqual([late.row.state, late.members, late.excluded], ['complete', [old, young], []]);
      assert.deepEqual([late.cut.length, late.stale], [1, undefined]);
      assert.ok(!(await replacedOf(store, batch)).includes(old!), 'it counts again');
      assert.equal(await deliver('late', [old!]), true, 'its deadline passed');

      await store.addGroup(batch, 'least', request({ min_usable: 1 }));
      const [first] = await finishAll();
      assert.equal(await deliver('least', [first!]), false);
      await store.lease(session, 1);
      await store.stop(batch, 'Enough.');
      await store.closeRollouts({ batch }, { status: 'cancelled', reason: 'Enough.' }, true);
      const least = await ended('least');
      assert.deepEqual(
        [least.row.state, least.row.why, least.members.length, least.excluded.includes(first!)],
        ['short', 'Enough: 1 of 2 members have a reward (1 canceled, 1 too old).', 1, true],
      );
      assert.equal(await deliver('least', least.members), true, 'its batch has ended');
    });

    it('run by priority, then in order of their requests', async () => {
      const store = subject.store();
      const { batch, session } = await groupBatch(store);
      await store.addGroup(batch, 'low', request({ priority: -1 }));
      await store.addGroup(batch, 'usual', request());
      await store.addGroup(batch, 'high', request({ priority: 5 }));
      const leases = await store.lease(session, 6);
      assert.deepEqual(inOrder(leases), ['high.1', 'high.2', 'usual.1', 'usual.2', 'low.1', 'low.2']);
    });

    it('appear in the feed in the order in which they ended, to readers at any moment', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch, session } = await groupBatch(store);
      const names = Array.from({ length: 30 }, (_, n) => `g${n}`);
      await Promise.all(
        names.map((name, n) => (n % 2 === 0 ? store : other).addGroup(batch, name, request({ task: `t${n % 3}` }))),
      );
      const leases = await store.lease(session, 60);
      const seen: string[] = [];
      let rev = 0;
      const read = async (): Promise<void> => {
        for (const group of await other.finishedGroups(batch, rev, 7)) {
          assert.ok(group.rev > rev);
          ({ rev } = group);
          seen.push(group.row.group);
        }
      };
      const finishing = Promise.all(leases.map((lease, n) => finish(n % 2 === 0 ? store : other, batch, lease, {})));
      let isFinished = false;
      finishing.then(
        () => (isFinished = true),
        () => (isFinished = true),
      );
      while (!isFinished) {
        await read();
        await setImmediate();
      }
      await finishing;
      for (let before = -1; before < seen.length; ) {
        before = seen.length;
        await read();
      }
      assert.deepEqual(seen.toSorted(), names.toSorted());
    });

    it('are removed with their batch', async () => {
      const store = await subject.fresh();
      const { batch } = await groupBatch(store);
      await store.addGroup(batch, 'g', request());
      await store.stop(batch, 'Enough.');
      await store.closeRollouts({ batch }, { status: 'cancelled', reason: 'Enough.' }, true);
      assert.deepEqual((await store.gc({ batches: [batch], dryRun: false })).batches, [batch]);
      await assert.rejects(store.groups(batch, { limit: 1 }), (error) => StudioError.is(error, 'not_found'));
    });
  });
}
