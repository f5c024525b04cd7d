import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { newId } from '../../../src/common/ids.ts';
import type { Store } from '../../../src/store/store.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import {
  addVerdict,
  event,
  eventsOf,
  finish,
  newBatch,
  newSession,
  openBatch,
  shaOf,
  task,
  wholeRollout,
} from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

const isGone = (error: unknown): boolean =>
  StudioError.is(error, 'gone') && /^The trajectories of batch b.* were trimmed on 20\d\d-/.test(error.message);
const rowsOf = async (store: Store, batch: string): Promise<RolloutRow[]> =>
  (await store.rollouts(batch, { limit: 999, all: true })).rollouts;
const by = (user: string) => ({ trim: () => ({ by: user }) });

async function put(store: Store, content: string | Buffer): Promise<string> {
  await store.blobs.put(shaOf(content), Buffer.from(content));
  return shaOf(content);
}

/** A batch with attempts whose calls have tokens, one blob each. */
async function ended(store: Store, attempts: number, over: Parameters<typeof newBatch>[0] = {}) {
  const { batch, session } = await openBatch(store, 1, { attempts, ...over });
  const tokens: string[] = [];
  const rollouts: string[] = [];
  for (let left = attempts; left > 0; ) {
    const leases = await store.lease(session, left);
    for (const lease of leases) {
      const sha = await put(store, JSON.stringify({ rollout: lease.rollout }));
      tokens.push(sha);
      rollouts.push(lease.rollout);
      const events = wholeRollout(1, lease, batch, { steps: 20, passed: lease.attempt % 2 === 0 }).map((one) =>
        one.kind === 'model.end'
          ? { ...one, data: { ...one.data, tokens: { $blob: sha, bytes: 90, media: 'application/json', head: '' } } }
          : one,
      );
      const score = event(events.length, 'score', { scorer: 'exact', value: 0.5, passed: null, explanation: 'half' });
      const end = { ...events.at(-1)!, seq: events.length + 1 };
      await store.append({
        ...{ rollout: lease.rollout, epoch: lease.epoch, from: 1 },
        events: [...events.slice(0, -1), score, end],
      });
    }
    left -= leases.length;
  }
  return { batch, rollouts, tokens };
}

export function trimmingTests(subject: Subject): void {
  describe('trimming', () => {
    it('drops trajectories and what only they name, and keeps the results', async () => {
      const store = await subject.fresh();
      const [submission, extra, file, prompt, shared] = await Promise.all(
        ['submission', 'extra', 'file', 'prompt', 'shared'].map((name) => put(store, `${name} ${newId('c')}`)),
      );
      const other = await openBatch(store, 1, { blobs: [shared!] });
      const spec = newBatch({ attempts: 1, submission: submission!, blobs: [extra!] });
      await store.createBatch(spec);
      await store.addTasks(spec.id, 0, [task('a', { files: [{ name: 'x', sha: file!, bytes: 1 }] })]);
      await store.seal(spec.id);
      const session = newSession(spec.id);
      await store.openSession(session);
      const [lease] = await store.lease(session.session, 1);
      const { rollout, epoch } = lease!;
      const blob = (sha: string) => ({ $blob: sha, bytes: 100, media: 'text/plain', head: '' });
      await store.append({
        ...{ rollout, epoch, from: 1 },
        events: [
          event(1, 'log', { stream: 'out', text: blob(prompt!) }),
          event(2, 'log', { stream: 'out', text: blob(shared!) }),
          event(3, 'log', { stream: 'out', text: 'x"kind":"score"' }),
        ],
      });
      await store.addBatchEvent(spec.id, 'note', { by: 'ada', text: 'as in the other' });
      assert.deepEqual((await store.gc({ batches: [spec.id], ...by('ada'), dryRun: false })).kept, [
        { batch: spec.id, why: 'it has not ended' },
      ]);
      await finish(store, spec.id, { ...lease!, last: 3 }, { steps: 30, reward: 0.5, passed: false });
      const before = await rowsOf(store, spec.id);
      const { rev, ...row } = (await store.batch(spec.id))!.row;
      const own = await eventsOf(store, spec.id);
      const options = { batches: [spec.id], ...by('ada'), blobGraceMs: -1 };

      const planned = await store.gc({ ...options, dryRun: true });
      assert.deepEqual([planned.batches, planned.trimmed, planned.blobs], [[], [spec.id], 1]);
      assert.deepEqual((await store.batch(spec.id))!.row, { ...row, rev }, 'a dry run changes nothing');
      const done = await store.gc({ ...options, dryRun: false });
      assert.deepEqual([done.batches, done.trimmed, done.kept, done.blobs], [[], [spec.id], [], 1]);
      assert.ok(done.bytes > 1000 && done.bytes <= planned.bytes, `${done.bytes} of ${planned.bytes}`);

      const { rev: newRev, trimmed, ...after } = (await store.batch(spec.id))!.row;
      assert.deepEqual(after, row);
      assert.ok(newRev > rev);
      assert.deepEqual(trimmed, { at: trimmed!.at, by: 'ada' });
      assert.deepEqual(
        await rowsOf(store, spec.id),
        before.map((one) => ({ ...one, trimmed: true })),
      );
      assert.deepEqual(await eventsOf(store, spec.id), own);
      assert.equal((await store.tasks(spec.id, { limit: 9 })).tasks.length, 1);
      const left = await eventsOf(store, rollout);
      assert.deepEqual(
        left.map(({ kind }) => kind),
        ['rollout.start', 'rollout.end'],
      );
      assert.equal(left[1]?.kind === 'rollout.end' && left[1].data.answer, 'forty-two');
      assert.deepEqual(
        await store.blobs.has([submission!, extra!, file!, prompt!, shared!]),
        new Set([submission, extra, file, shared]),
      );
      const [entry] = await store.audit.list({ batch: spec.id, limit: 1 });
      assert.deepEqual([entry?.what, entry?.user, entry?.result], ['trim', 'ada', 'done']);

      const repeated = await store.gc({ ...options, dryRun: false });
      assert.deepEqual(
        [repeated.trimmed, repeated.kept, repeated.bytes],
        [[], [{ batch: spec.id, why: 'its trajectories are trimmed already' }], 0],
      );
      assert.deepEqual((await store.gc({ olderThanMs: 0, ...by('bo'), dryRun: false })).trimmed, []);
      await addVerdict(store, spec.id, { rollout, scorer: 'person:bo', by: 'bo', value: 1, passed: true });
      assert.equal((await store.rollout(rollout))!.row.progress.verdicts?.['person:bo']?.passed, true);
      assert.deepEqual((await store.gc({ batches: [spec.id], dryRun: false })).batches, [spec.id]);
      assert.equal(await store.rollout(rollout), undefined);
      assert.ok(await store.batch(other.batch));
    });

    it('refuses what needs the events', async () => {
      const store = subject.store();
      const { batch, rollouts } = await ended(store, 1);
      const lost = await openBatch(store, 1, { attempts: 1, retries: 0 });
      const [lease] = await store.lease(lost.session, 1);
      await finish(store, lost.batch, lease!, { status: 'infrastructure', passed: null, reward: null });
      await store.gc({ batches: [batch, lost.batch], ...by('ada'), dryRun: false });
      const [rollout] = rollouts;
      const lineage = [{ rollout: rollout!, to: 2 }];
      for (const spec of [
        newBatch({ attempts: 1, parent: { rollout: rollout!, seq: 2, lineage, edits: [] } }),
        newBatch({ attempts: 1, rescores: { batch, by: 'ada' } }),
      ]) {
        await assert.rejects(subject.other().createBatch(spec), isGone);
        assert.equal(await store.batch(spec.id), undefined);
      }
      await assert.rejects(store.retry(lost.batch), isGone);
    });

    it('keeps a batch while a whole one reads it, and lists it while a trimmed one names it', async () => {
      const store = await subject.fresh();
      const parent = await ended(store, 1);
      const lineage = [{ rollout: parent.rollouts[0]!, to: 2 }];
      const fork = newBatch({ attempts: 1, parent: { rollout: parent.rollouts[0]!, seq: 2, lineage, edits: [] } });
      await store.createBatch(fork);
      await store.addTasks(fork.id, 0, [task('t0')]);
      await store.seal(fork.id);
      const session = newSession(fork.id);
      await store.openSession(session);
      const [lease] = await store.lease(session.session, 1);
      await finish(store, fork.id, lease!);
      const reads = [{ batch: parent.batch, why: `batch ${fork.id} reads it` }];
      for (const dryRun of [true, false])
        assert.deepEqual((await store.gc({ batches: [parent.batch], ...by('ada'), dryRun })).kept, reads);
      const both = { batches: [parent.batch, fork.id], ...by('ada') };
      for (const dryRun of [true, false])
        assert.deepEqual((await store.gc({ ...both, dryRun })).trimmed.sort(), both.batches.toSorted());
      assert.equal((await store.rollout(lease!.rollout))!.lineage.length, 1);
      assert.deepEqual((await store.gc({ batches: [parent.batch], dryRun: false })).kept, reads);
      assert.deepEqual((await store.gc({ olderThanMs: 0, dryRun: false })).batches.sort(), both.batches.toSorted());
    });

    it('does it once when servers do it at the same time, in steps, while rollouts run', async () => {
      const stores = [subject.store(), subject.other()];
      const [store] = stores;
      const { batch, rollouts, tokens } = await ended(store!, 230);
      const before = await rowsOf(store!, batch);
      const running = await openBatch(store!, 1, { attempts: 40 });
      const trims = Promise.all(
        stores.map((one) => one.gc({ batches: [batch], ...by('ada'), dryRun: false, blobGraceMs: -1 })),
      );
      for (const lease of await store!.lease(running.session, 40)) await finish(store!, running.batch, lease);
      const results = await trims;
      assert.deepEqual(
        results.flatMap(({ trimmed }) => trimmed),
        [batch],
      );
      assert.equal((await store!.batch(running.batch))!.row.counts.passed, 40);
      assert.deepEqual(
        await rowsOf(store!, batch),
        before.map((one) => ({ ...one, trimmed: true })),
      );
      for (const rollout of [rollouts[0]!, rollouts[150]!, rollouts.at(-1)!])
        assert.deepEqual(
          (await eventsOf(store!, rollout)).map(({ kind, seq }) => [kind, seq]),
          [
            ['rollout.start', 1],
            ['score', 43],
            ['rollout.end', 44],
          ],
        );
      assert.equal((await store!.blobs.has(tokens)).size, 0);
      assert.equal((await store!.audit.list({ batch, limit: 9 })).filter(({ what }) => what === 'trim').length, 1);
    });
  });
}
