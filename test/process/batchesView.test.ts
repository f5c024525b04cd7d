/** The Batches view's contents against a real server: pages to the last task, then live rows. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Connection, connect } from '../../src/client/connect.ts';
import { deferred } from '../../src/common/abort.ts';
import { BatchContents } from '../../src/host/views/batches/batchContents.ts';
import { BatchFollower } from '../../src/host/views/batches/batchFollower.ts';
import { plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';

describe('the Batches view', { timeout: 480_000 }, () => {
  const store = new TestStore();
  let server: TestServer;
  let connection: Connection;
  before(async () => {
    server = await store.start();
    connection = await connect({ store: store.folder, start: false });
  });
  after(() => store[Symbol.asyncDispose]());

  it('reads a batch to its last task', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 2 }), tasks(250));
    const contents = new BatchContents(batch);
    let pages = 0;
    while (contents.more) {
      await contents.loadMore(connection.api);
      pages++;
    }
    assert.equal(pages, 3);
    assert.deepEqual(
      contents.tasks.map(({ task }) => task),
      tasks(250).map(({ id }) => id),
    );
    assert.ok(contents.tasks.every(({ rows, complete }) => rows.size === 2 && complete));
  });

  it('updates while it is visible, and stops at the end', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 2 }), tasks(2));
    const contents = new BatchContents(batch);
    let drawn = deferred<undefined>();
    const follower = new BatchFollower({
      server: { connection: () => Promise.resolve(connection) },
      log: { warn: (text) => assert.fail(text) },
      contents: () => contents,
      changed: () => {
        drawn.resolve(undefined);
        drawn = deferred();
      },
    });
    const drawnUntil = async (met: () => boolean): Promise<void> => {
      for (let next = drawn.promise; !met(); next = drawn.promise) await next;
    };
    const states = (): string[] =>
      contents.tasks.flatMap(({ rows }) =>
        [...rows.values()].map((row) => (row.progress.passed === true ? 'passed' : row.state)),
      );
    try {
      const row = await connection.api.batch(batch);
      await contents.loadMore(connection.api);
      follower.start(row);
      assert.deepEqual(states(), ['queued', 'queued', 'queued', 'queued']);
      const worker = await server.worker(batch);
      const [first, ...others] = await worker.lease(4);
      assert.ok(first !== undefined);
      await worker.finish(first, { passed: true });
      await drawnUntil(() => states().includes('passed'));

      // Collapsed or hidden: not followed. Changes arrive when it is visible again.
      follower.setVisible(false);
      assert.deepEqual(follower.active, []);
      for (const grant of others) await worker.finish(grant, { passed: true });
      assert.ok(states().some((state) => state !== 'passed'));
      follower.setVisible(true);
      await drawnUntil(() => states().every((state) => state === 'passed'));

      assert.deepEqual(follower.active, [batch]);
      follower.updateRow({ ...row, state: 'ended' });
      assert.deepEqual(follower.active, [], 'nothing more is to come');
      follower.updateRow({ ...row, state: 'running', rev: row.rev + 100 });
      assert.deepEqual(follower.active, [batch], 'it was retried');
    } finally {
      follower.stopAll();
    }
    assert.deepEqual(follower.active, []);
  });
});
