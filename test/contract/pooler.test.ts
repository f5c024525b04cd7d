/** A store in a database that is behind a pooler. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import { openStore } from '../../src/store/open.ts';
import { startPooler } from '../support/pooler.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { newBatch, tasks } from '../support/trajectories.ts';

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

test('a pool in session mode is as good as the database, and the tables have their schema', async () => {
  const url = await postgres.createDatabase();
  const pooler = await startPooler(url, 'session');
  try {
    const store = await openStore(pooler.url, {});
    try {
      const batch = newBatch();
      await store.createBatch(batch);
      await store.addTasks(batch.id, 0, tasks(3));
      assert.equal((await store.batch(batch.id))?.row.tasks, 3);
      assert.equal(await store.elect('role'), true);
    } finally {
      await store.close();
    }
  } finally {
    await pooler.close();
  }
  const schemas = await postgres.query(url, "SELECT schemaname FROM pg_tables WHERE tablename = 'batch'");
  assert.deepEqual(schemas, [{ schemaname: 'rollout_studio' }]);
});

test('one that gives each transaction another connection is refused, and nothing is created', async () => {
  const url = await postgres.createDatabase();
  const pooler = await startPooler(url, 'transaction');
  try {
    await assert.rejects(openStore(pooler.url, {}), (error) => {
      assert.ok(StudioError.is(error, 'storage'));
      assert.match(error.message, /is behind a pooler that gives each transaction another connection\.$/);
      return /a pool in session mode/.test(error.hint ?? '');
    });
  } finally {
    await pooler.close();
  }
  assert.deepEqual(await postgres.query(url, "SELECT tablename FROM pg_tables WHERE tablename = 'batch'"), []);
});
