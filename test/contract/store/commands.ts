import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { newId } from '../../../src/common/ids.ts';
import type { NewCommand } from '../../../src/store/store.ts';
import { eventsOf, newSession, openBatch } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

function command(batch: string, over: Partial<NewCommand> = {}): NewCommand {
  return { id: newId('c'), batch, verb: 'hold', args: { text: '\0\ud800' }, by: 'somebody \0', ...over };
}

export function commandTests(subject: Subject): void {
  describe('commands', () => {
    it('are kept once, and answered once', async () => {
      const store = subject.store();
      const { batch } = await openBatch(store, 1);
      const put = command(batch, { id: `from a client \0 ${newId('c')}` });
      assert.deepEqual(await store.putCommand(put), put);
      assert.deepEqual(await store.putCommand({ ...put, by: 'again' }), put);
      await assert.rejects(store.putCommand({ ...put, verb: 'cancel' }), (error) => StudioError.is(error, 'conflict'));
      await store.finishCommand(put.id, { seq: 7 });
      await store.finishCommand(put.id, { seq: 8 });
      assert.deepEqual(await store.command(put.id), { ...put, result: { seq: 7 } });
      assert.deepEqual(await store.putCommand(put), { ...put, result: { seq: 7 } });
      assert.equal(await store.command('c-none'), undefined);
      await assert.rejects(store.finishCommand('c-none', null), (error) => StudioError.is(error, 'not_found'));
      await assert.rejects(store.putCommand(command('b-none')), (error) => StudioError.is(error, 'not_found'));
    });

    it('are recorded once, and what they write is written once, with their result', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { batch } = await openBatch(store, 1);
      const put = command(batch, { verb: 'note' });
      const control = { command: put.id, verb: put.verb, by: 'ada' };
      await Promise.all([store.putCommand(put, control), other.putCommand(put, control)]);
      await store.putCommand(put, control);
      const note = { kind: 'note', data: { by: 'ada', text: 'once' } } as const;
      const reply = (seq: number) => ({ seq });
      const results = await Promise.all([store, other, store].map((each) => each.finishWith(put.id, note, reply)));
      const events = await eventsOf(store, batch);
      const notes = events.filter(({ kind }) => kind === 'note');
      assert.equal(events.filter(({ kind }) => kind === 'control').length, 1);
      assert.equal(notes.length, 1);
      const [result] = results;
      assert.deepEqual(results, [result, result, result]);
      assert.deepEqual(result, { seq: notes[0]?.seq });
      assert.deepEqual((await other.command(put.id))?.result, result);
      await assert.rejects(store.finishWith('c-none', note, reply), (error) => StudioError.is(error, 'not_found'));
    });

    it('that fail to write have no result', async () => {
      const store = subject.store();
      const { batch } = await openBatch(store, 1);
      const put = command(batch, { verb: 'label' });
      await store.putCommand(put);
      const data = { rollout: 'r-none', scorer: 'person:ada', value: 1, passed: true };
      await assert.rejects(
        store.finishWith(put.id, { kind: 'verdict', data }, (seq) => seq),
        (error) => StudioError.is(error, 'not_found'),
      );
      assert.deepEqual(await store.command(put.id), put);
    });

    it('are carried out by one server at a time', async (test) => {
      if (subject.kind === 'sqlite') {
        test.skip('it has one server');
        return;
      }
      const [store, other] = [subject.store(), subject.other()];
      const key = newId('c');
      let working = 0;
      const work = async (): Promise<number> => {
        const now = ++working;
        await new Promise((resolve) => setImmediate(resolve));
        working -= 1;
        return now;
      };
      const all = [store, other, store, other, other].map((each) => each.exclusively(key, work));
      assert.deepEqual(await Promise.all(all), [1, 1, 1, 1, 1]);
      const failed = other.exclusively(key, () => Promise.reject(new Error('as expected')));
      await assert.rejects(failed, /as expected/);
      const inside = await store.exclusively(key, () => other.exclusively(newId('c'), work));
      assert.equal(inside, 1, 'others are not held up');
    });

    it('reach the worker that holds the rollout, once', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 2);
      const second = newSession(batch, { worker: 'worker-2' });
      await store.openSession(second);
      const [mine] = await store.lease(session, 1);
      const [other] = await store.lease(second.session, 1);
      const first = await store.putCommand(command(batch, { rollout: mine!.rollout }));
      await store.putCommand(command(batch, { rollout: other!.rollout }));
      assert.deepEqual(await store.commandsFor(session), [first]);
      assert.deepEqual(await store.commandsFor(session), []);
      await store.endSession(session, 'gone');
      const third = newSession(batch);
      await store.openSession(third);
      assert.deepEqual(await store.commandsFor(third.session), [], 'nobody has the rollout');
      await store.adopt(third.session, [{ rollout: mine!.rollout, epoch: 1 }]);
      assert.deepEqual(await store.commandsFor(third.session), [first], 'it was not answered');
      await store.finishCommand(first.id, null);
      await assert.rejects(store.commandsFor(session), (error) => StudioError.is(error, 'not_found'));
    });

    it('for a batch reach all its workers, once, also through another server', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1);
      const second = newSession(batch, { worker: 'worker-2', server: 'server-2' });
      await subject.other().openSession(second);
      const seen = new Promise<void>((resolve) => {
        const end = subject.other().watch((ids) => {
          if (!ids.includes(second.session)) return;
          end();
          resolve();
        });
      });
      const put = await store.putCommand(command(batch, { verb: 'breakpoints' }));
      await seen;
      assert.deepEqual(await subject.other().commandsFor(second.session), [put]);
      assert.deepEqual(await subject.other().commandsFor(second.session), []);
      assert.deepEqual(await store.commandsFor(session), [put]);
      const late = newSession(batch, { worker: 'worker-3' });
      await store.openSession(late);
      assert.deepEqual(await store.commandsFor(late.session), [], 'a newcomer gets how the batch stands instead');
      const answered = new Promise<void>((resolve) => {
        const end = store.watch((ids) => {
          if (!ids.includes(put.id)) return;
          end();
          resolve();
        });
      });
      await subject.other().finishCommand(put.id, { changed: 3 });
      await answered;
    });
  });
}
