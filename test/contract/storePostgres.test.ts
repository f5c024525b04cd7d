/** What only PostgreSQL can experience: connections that break, a database that restarts, several servers. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { type CuttingProxy, cuttingProxy } from '../support/cuttingProxy.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { eventsOf, logLine, logLines, newBatch, openBatch } from '../support/trajectories.ts';

describe('PostgreSQL store', () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres.stop());

  it('lets servers that start simultaneously create its tables', async (t) => {
    const url = await postgres.createDatabase();
    const stores = await Promise.all([1, 2, 3, 4].map(() => opened(t, url)));
    const spec = newBatch();
    await Promise.all(stores.map((store) => store.createBatch(spec)));
    assert.deepEqual(
      await Promise.all(stores.map(async (store) => (await store.batch(spec.id))?.row.last)),
      [1, 1, 1, 1],
    );
  });

  it('notifies other servers of changes immediately', async (t) => {
    const url = await postgres.createDatabase();
    const [one, two] = [await opened(t, url), await opened(t, url)];
    const { batch, session } = await openBatch(one, 40, { attempts: 30 });
    const leases = await one.lease(session, 500);
    const missing = new Set(leases.map(({ rollout }) => rollout));
    const notified = new Promise<void>((resolve) => {
      two.watch((ids) => {
        for (const id of ids) missing.delete(id);
        if (missing.size === 0) resolve();
      });
    });
    // 500 IDs exceed one notification.
    await one.closeRollouts({ batch }, { status: 'cancelled', reason: 'enough' }, true);
    await notified;
  });

  it('recovers when all connections break, and says that something may have been missed', async (t) => {
    const url = await postgres.createDatabase();
    const store = await opened(t, url);
    const { session } = await openBatch(store, 4, { attempts: 1 });
    const leases = await store.lease(session, 4);
    assert.equal(await store.elect('jobs'), true);
    let cuts = 0;
    const writing = Promise.all(leases.map(({ rollout, epoch }) => append(store, rollout, epoch, 60)));
    const cutting = (async () => {
      for (; cuts < 3; cuts++) {
        const missed = new Promise<void>((resolve) => {
          const end = store.watch((ids) => {
            if (ids.length > 0) return;
            end();
            resolve();
          });
        });
        await postgres.cutConnections(url);
        await missed;
      }
    })();
    await Promise.all([writing, cutting]);
    for (const { rollout } of leases) assert.deepEqual(await eventsOf(store, rollout), logLines(1, 60));
    assert.equal(await store.elect('jobs'), true, 'nobody else claimed the role');
  });

  it('reports that the database is away, and when it is back', async (t) => {
    const url = await postgres.createDatabase();
    const proxy = await proxied(t, url);
    const store = await opened(t, through(url, proxy.port));
    const changes: unknown[] = [];
    const changed = (): Promise<unknown> =>
      new Promise((resolve) => {
        store.watchOutage((why) => {
          changes.push(why);
          resolve(why);
        });
      });
    const away = changed();
    proxy.setAway(true);
    assert.ok(StudioError.is(await away, 'storage'));
    const back = changed();
    proxy.setAway(false);
    assert.equal(await back, undefined);
    assert.equal(changes.length, 2);
  });

  it('survives a crash of the database', async (t) => {
    const url = await postgres.createDatabase();
    const store = await opened(t, url);
    const { session } = await openBatch(store, 4, { attempts: 1 });
    const leases = await store.lease(session, 4);
    const writing = Promise.all(leases.map(({ rollout, epoch }) => append(store, rollout, epoch, 40)));
    await postgres.restart('crash');
    await writing;
    for (const { rollout } of leases) assert.deepEqual(await eventsOf(store, rollout), logLines(1, 40));
  });

  it('repeats a transaction whose ID another one got and committed after a crash', async (t) => {
    const url = await postgres.createDatabase();
    const proxy = await proxied(t, url);
    const store = await opened(t, through(url, proxy.port));
    const { session } = await openBatch(store, 1, { attempts: 1 });
    const [lease] = await store.lease(session, 1);
    // Nothing of the transaction reaches the disk before the crash.
    await postgres.query(url, "ALTER SYSTEM SET wal_writer_delay = '10s'");
    await postgres.query(url, 'SELECT pg_reload_conf()');
    await postgres.query(url, 'CHECKPOINT');
    const ids = async (): Promise<number> =>
      Number((await postgres.query(url, 'SELECT pg_current_xact_id()::text AS id'))[0]?.['id']);
    const before = await ids();
    const cut = proxy.cutAt('COMMIT', 'before');
    const writing = append(store, lease!.rollout, lease!.epoch, 1);
    await cut;
    proxy.setAway(true);
    await postgres.restart('crash');
    assert.ok((await ids()) <= before + 1, 'the crash took IDs back');
    while ((await ids()) < before + 20);
    proxy.setAway(false);
    await writing;
    await postgres.query(url, 'ALTER SYSTEM RESET wal_writer_delay');
    assert.deepEqual(await eventsOf(store, lease!.rollout), logLines(1, 1));
  });

  it('gives a role to another server when the connection of its holder breaks', async (t) => {
    const url = await postgres.createDatabase();
    const proxy = await proxied(t, url);
    const one = await opened(t, through(url, proxy.port));
    const two = await opened(t, url);
    assert.deepEqual([await one.elect('jobs'), await two.elect('jobs')], [true, false]);
    await proxy.close();
    assert.equal(await one.elect('jobs'), false);
    let won = false;
    while (!won) won = await two.elect('jobs'); // until the database has noticed
  });

  for (const when of ['before', 'after'] as const) {
    it(`runs a transaction once when the connection breaks ${when} the commit reached the database`, async (t) => {
      const url = await postgres.createDatabase();
      const proxy = await proxied(t, url);
      const store = await opened(t, through(url, proxy.port));
      const { batch, session } = await openBatch(store, 6, { attempts: 1 });
      const cut = proxy.cutAt('COMMIT', when);
      const leases = await store.lease(session, 2);
      await cut;
      assert.deepEqual(
        leases.map(({ epoch }) => epoch),
        [1, 1],
      );
      assert.deepEqual((await store.batch(batch))?.row.counts.running, 2);
      const cutAgain = proxy.cutAt('COMMIT', when);
      assert.equal(await store.addBatchEvent(batch, 'note', { text: 'once', by: 'me' }), 2);
      await cutAgain;
      assert.equal((await eventsOf(store, batch)).length, 2);
    });
  }

  it('reports why it cannot be used', async (t) => {
    const url = await postgres.createDatabase();
    const bad = async (target: string): Promise<StudioError> => {
      try {
        await (await openStore(target)).close();
      } catch (error) {
        assert.ok(StudioError.is(error), String(error));
        assert.ok(error.hint !== undefined);
        assert.doesNotMatch(`${error.message} ${error.hint}`, /geheim/);
        return error;
      }
      throw new Error('it was opened');
    };
    const missing = new URL(url);
    missing.pathname = '/nowhere';
    missing.password = 'geheim';
    assert.match((await bad(missing.href)).message, /does not exist/);
    const gone = await cuttingProxy(1);
    await gone.close();
    assert.match((await bad(`postgres://me:geheim@127.0.0.1:${gone.port}/x`)).message, /Cannot reach the database/);
    assert.equal((await bad('postgres://[geheim')).code, 'usage');
    const store = await opened(t, url);
    assert.equal(store.name, url);
    await store.close();
    await postgres.query(url, "UPDATE rollout_studio.meta SET value = '999' WHERE name = 'version'");
    assert.equal((await bad(url)).code, 'version');
    await assert.rejects(store.seal('b'), (error) => StudioError.is(error, 'storage'));
  });
});

/** A store that is closed after the test, even when it fails. */
async function opened(t: TestContext, url: string): Promise<Store> {
  const store = await openStore(url);
  t.after(() => store.close());
  return store;
}

async function proxied(t: TestContext, url: string): Promise<CuttingProxy> {
  const proxy = await cuttingProxy(Number(new URL(url).port));
  t.after(() => proxy.close());
  return proxy;
}

function through(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}

async function append(store: Store, rollout: string, epoch: number, count: number): Promise<void> {
  for (let seq = 1; seq <= count; seq++) {
    assert.deepEqual(await store.append({ rollout, epoch, from: seq, events: [logLine(seq)] }), {
      ok: true,
      durable: seq,
    });
  }
}
