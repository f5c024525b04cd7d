import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { newId } from '../../../src/common/ids.ts';
import type { NewCommand } from '../../../src/store/store.ts';
import { newSession, openBatch } from '../../support/trajectories.ts';
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
