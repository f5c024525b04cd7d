import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { type EndpointChange, versionOf } from '../../../src/store/endpointStore.ts';
import { openBatch } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

function change(endpoint: string, over: Partial<EndpointChange> = {}): EndpointChange {
  return { endpoint, paused: false, mode: 'wait', force: false, by: 'trainer \0', limitMs: 600_000, ...over };
}

const isConflict = (error: unknown): boolean => StudioError.is(error, 'conflict');

export function endpointTests(subject: Subject): void {
  describe('endpoints', () => {
    it('keep their state and version, for all servers', async () => {
      const endpoint = 'http://one.invalid/v1';
      const seen = new Promise<void>((resolve) => {
        const end = subject.other().watch((ids) => {
          if (!ids.includes('endpoints')) return;
          end();
          resolve();
        });
      });
      const paused = await subject.store().endpoints.set(change(endpoint, { paused: true, mode: 'abort', version: 3 }));
      await seen;
      const found = (await subject.other().endpoints.list()).filter((one) => one.endpoint === endpoint);
      assert.deepEqual(found, [paused]);
      assert.deepEqual([paused.paused, paused.mode, paused.version, paused.by], [true, 'abort', 3, 'trainer \0']);
      const again = await subject.other().endpoints.set(change(endpoint, { paused: true, mode: 'abort', version: 3 }));
      assert.deepEqual(again, paused, 'a repeat changes nothing');
      const resumed = await subject.other().endpoints.set(change(endpoint, { version: 4 }));
      assert.ok(resumed.rev > paused.rev);
      const kept = await subject.store().endpoints.set(change(endpoint, { paused: true }));
      assert.equal(kept.version, 4, 'a change without a version keeps it');
    });

    it('refuse versions that go backward, unless forced', async () => {
      const { endpoints } = subject.store();
      const endpoint = 'http://two.invalid/v1';
      await endpoints.set(change(endpoint, { version: 7 }));
      await assert.rejects(endpoints.set(change(endpoint, { version: 6 })), isConflict);
      const before = await endpoints.list();
      assert.equal(versionOf(before, endpoint), 7, 'nothing was changed');
      await endpoints.set(change(endpoint, { version: 2, force: true }));
      await endpoints.set(change(endpoint, { version: 3 }));
      assert.equal(versionOf(await endpoints.list(), endpoint), 3);
    });

    it('and their replicas have states of their own, until all are changed', async () => {
      const { endpoints } = subject.store();
      const endpoint = 'http://three.invalid/v1';
      const [a, b] = ['http://10.0.0.1/v1', 'http://10.0.0.2/v1'];
      const replica = { name: 'pod-a', url: a };
      await endpoints.set(change(endpoint, { version: 1 }));
      await endpoints.set(change(endpoint, { replica, paused: true, version: 2 }));
      let all = await endpoints.list();
      assert.deepEqual(
        [a, b, undefined].map((url) => versionOf(all, endpoint, url)),
        [2, 1, 1],
      );
      await assert.rejects(endpoints.set(change(endpoint, { version: 1 })), isConflict, 'one replica is newer');
      await assert.rejects(endpoints.set(change(endpoint, { replica, version: 1 })), isConflict);
      await endpoints.set(change(endpoint, { version: 2 }));
      all = (await endpoints.list()).filter((one) => one.endpoint === endpoint);
      assert.deepEqual(
        [a, b, undefined].map((url) => versionOf(all, endpoint, url)),
        [2, 2, 2],
      );
      assert.deepEqual(
        all.map(({ paused }) => paused),
        [false, false],
        'all of it serves again',
      );
    });

    it('have an order of all their changes, also by two servers', async () => {
      const changes = await Promise.all(
        Array.from({ length: 12 }, (_, index) => {
          const store = index % 2 === 0 ? subject.store() : subject.other();
          return store.endpoints.set(change(`http://many.invalid/${index % 3}`, { paused: true, limitMs: index + 1 }));
        }),
      );
      assert.equal(new Set(changes.map(({ rev }) => rev)).size, changes.length);
    });

    it('tell people once about a long pause', async () => {
      const { endpoints } = subject.store();
      const pause = await endpoints.set(change('http://four.invalid/v1', { paused: true }));
      const reported = await Promise.all([
        endpoints.markReported(pause),
        subject.other().endpoints.markReported(pause),
      ]);
      assert.deepEqual(reported.toSorted(), [false, true]);
      await endpoints.set(change('http://four.invalid/v1'));
      assert.equal(await endpoints.markReported(pause), false, 'it is over');
    });

    it('know the calls of open sessions only', async () => {
      const store = subject.store();
      const { session } = await openBatch(store, 1);
      const of = async () => (await subject.other().endpoints.calls()).find((one) => one.session === session);
      assert.deepEqual([(await of())?.rev, (await of())?.calls], [0, []]);
      const calls = [{ endpoint: 'http://one.invalid/v1', replica: 'http://10.0.0.1/v1', calls: 16 }];
      await store.endpoints.report(session, { rev: 5, calls });
      assert.deepEqual([(await of())?.rev, (await of())?.calls], [5, calls]);
      await store.endSession(session, 'gone');
      await store.endpoints.report(session, { rev: 6, calls });
      assert.equal(await of(), undefined);
    });
  });
}
