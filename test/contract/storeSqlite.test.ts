/** What only SQLite can experience: the death of its process, a full disk, a damaged or foreign file. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { StudioError } from '../../src/common/errors.ts';
import { RowBlobs } from '../../src/store/blobs/rowBlobs.ts';
import { openStore } from '../../src/store/open.ts';
import { openDatabase } from '../../src/store/sqlite/driver.ts';
import { SqliteSql } from '../../src/store/sqlite/sqliteSql.ts';
import { SqlStore } from '../../src/store/sqlStore.ts';
import {
  event,
  eventsOf,
  finish,
  logLine,
  logLines,
  newBatch,
  newSession,
  openBatch,
  shaOf,
  tasks,
} from '../support/trajectories.ts';

const WRITER = fileURLToPath(new URL('../support/storeWriter.ts', import.meta.url));

describe('SQLite store', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-sqlite-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('copies its log into the database while it is written to, long before the log is large', async () => {
    const place = path.join(folder, 'copied');
    const store = await openStore(place);
    const size = (file: string): number => statSync(path.join(place, file)).size;
    const before = size('store.db');
    let commits = 0;
    while (size('store.db') < before + 1_000_000) {
      const bytes = Buffer.alloc(20_000, `${commits++} `);
      await store.blobs.put(shaOf(bytes), bytes);
      assert.ok(commits < 2_000, 'nothing is copied');
    }
    // Every 200 commits, of which opening the store makes some.
    assert.ok(commits > 150, `${commits} commits`);
    assert.ok(size('store.db-wal') < 60_000_000);
    await store.close();
    const again = await openStore(place);
    for (let n = 0; n < commits; n++) {
      const sha = shaOf(Buffer.alloc(20_000, `${n} `));
      assert.equal((await again.blobs.has([sha])).size, 1);
    }
    await again.close();
  });

  it('has everything acknowledged after its process was killed repeatedly', async (t) => {
    const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e6));
    t.diagnostic(`SEED=${seed}`);
    const place = path.join(folder, 'killed');
    const store = await openStore(place);
    const { batch } = await openBatch(store, 30, { attempts: 1 });
    await store.close();
    const acknowledged = new Map<string, number>();
    for (let round = 0, more = true; more; round++) {
      const writer = spawn(process.execPath, [WRITER, place, batch], { stdio: ['ignore', 'pipe', 'inherit'] });
      const exited = once(writer, 'exit');
      // Three deaths at seeded moments, then the rest undisturbed.
      const deadline = round < 3 ? 40 + ((seed * (round + 7)) % 400) : Infinity;
      let lines = 0;
      for await (const line of readline.createInterface({ input: writer.stdout })) {
        const [rollout = '', last] = line.split(' ');
        acknowledged.set(rollout, Number(last));
        if (++lines === deadline) writer.kill('SIGKILL');
      }
      const [code, signal] = (await exited) as [number | null, string | null];
      assert.ok(signal === 'SIGKILL' || code === 0, `the writer ended with ${String(code)}`);
      more = signal === 'SIGKILL';
      const reopened = await openStore(place);
      for (const [rollout, last] of acknowledged) {
        const row = (await reopened.rollout(rollout))?.row;
        assert.ok(
          row !== undefined && row.last >= last,
          `acknowledged up to ${last}, there up to ${String(row?.last)}`,
        );
        const events = await eventsOf(reopened, rollout);
        assert.deepEqual(
          events.map(({ seq }) => seq),
          Array.from({ length: row.last }, (_, n) => n + 1),
        );
        const end = row.state === 'ended' ? events.pop() : undefined;
        assert.deepEqual(events, logLines(1, events.length, 300));
        assert.equal(end?.kind, row.state === 'ended' ? 'rollout.end' : undefined);
      }
      if (!more) {
        const row = (await reopened.batch(batch))?.row;
        assert.deepEqual([row?.state, row?.counts.passed], ['ended', 30]);
      }
      await reopened.close();
    }
    assert.equal(acknowledged.size, 30);
  });

  it('answers `full` on a full disk, loses nothing, and continues when there is space', async () => {
    const place = path.join(folder, 'full');
    const prepared = await openStore(place);
    const { session } = await openBatch(prepared, 2, { attempts: 1 });
    const [one, two] = await prepared.lease(session, 2);
    await prepared.close();

    const writer = openDatabase(path.join(place, 'store.db'), { readOnly: false });
    const limit = (pages: number): void => writer.exec(`PRAGMA max_page_count = ${pages}`);
    writer.exec('PRAGMA synchronous = FULL');
    const reader = openDatabase(path.join(place, 'store.db'), { readOnly: true });
    const sql = new SqliteSql({ writer, reader, folder: place });
    const store = new SqlStore(sql, new RowBlobs(sql), { name: place, leaseMs: 30_000, packDelayMs: 60_000 });
    limit(80);
    let durable = 0;
    for (;;) {
      const results = await Promise.all(
        [one!, two!].map(({ rollout, epoch }) =>
          store.append({ rollout, epoch, from: durable + 1, events: logLines(durable + 1, 10, 1000) }),
        ),
      );
      if (results.every(({ ok }) => ok)) {
        durable += 10;
        continue;
      }
      for (const result of results) {
        if (!result.ok) assert.deepEqual([result.code, result.durable], ['full', durable]);
      }
      break;
    }
    assert.ok(durable > 0);
    await assert.rejects(store.blobs.put('0'.repeat(64), Buffer.alloc(0)), (error) => StudioError.is(error, 'usage'));
    await assert.rejects(
      store.createBatch({ ...newBatch(), name: 'x'.repeat(1_000_000) }),
      (error) => StudioError.is(error, 'storage') && /full/.test(error.message) && /disk space/.test(error.hint ?? ''),
    );
    for (const { rollout } of [one!, two!]) {
      const { last } = (await store.rollout(rollout))!.row;
      assert.deepEqual(await eventsOf(store, rollout), logLines(1, last, 1000));
    }
    limit(100_000);
    for (const { rollout, epoch } of [one!, two!]) {
      const { last } = (await store.rollout(rollout))!.row;
      assert.deepEqual(await store.append({ rollout, epoch, from: last + 1, events: [logLine(last + 1)] }), {
        ok: true,
        durable: last + 1,
      });
    }
    await store.close();
  });

  it('isolates a failing write from those committed with it', async () => {
    const store = await openStore(path.join(folder, 'together'));
    const spec = newBatch({ attempts: 1 });
    const results = await Promise.allSettled([
      store.createBatch(spec),
      store.createBatch({ ...spec, name: 'another' }),
      store.addTasks(spec.id, 0, tasks(1)),
      store.seal('b-none'),
      store.seal(spec.id),
      store.openSession(newSession('b-none')),
      store.addBatchEvent(spec.id, 'note', { text: 'x', by: 'y' }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
    );
    const row = (await store.batch(spec.id))?.row;
    assert.deepEqual([row?.name, row?.tasks, row?.state, row?.last], [spec.name, 1, 'running', 2]);
    await store.close();
    await assert.rejects(store.seal(spec.id), (error) => StudioError.is(error, 'storage'));
  });

  it('takes urgent writes first, and the others in order', async () => {
    const place = path.join(folder, 'urgent');
    await (await openStore(place)).close();
    const file = path.join(place, 'store.db');
    const sql = new SqliteSql({
      writer: openDatabase(file, { readOnly: false }),
      reader: openDatabase(file, { readOnly: true }),
      folder: place,
      log: `${file}-wal`,
    });
    const order: string[] = [];
    const write = (what: string, urgent?: 'urgent'): Promise<void> =>
      sql.write(async (tx) => {
        order.push(what);
        await tx.run('UPDATE meta SET value = value');
        if (what === 'first') void write('again', 'urgent').then(() => undefined);
      }, urgent);
    await Promise.all([write('plain'), write('other'), write('first', 'urgent'), write('second', 'urgent')]);
    await sql.close();
    assert.deepEqual(order, ['first', 'second', 'plain', 'other', 'again']);
  });

  it('reports nothing that may not be on the disk, and stops writing', async () => {
    const place = path.join(folder, 'unsynced');
    await (await openStore(place)).close();
    const file = path.join(place, 'store.db');
    const sql = new SqliteSql({
      writer: openDatabase(file, { readOnly: false }),
      reader: openDatabase(file, { readOnly: true }),
      folder: place,
      log: path.join(place, 'no-such-log'),
    });
    const store = new SqlStore(sql, new RowBlobs(sql), { name: place, leaseMs: 30_000, packDelayMs: 60_000 });
    const notified: string[] = [];
    store.watch((ids) => notified.push(...ids));
    for (const name of ['first', 'second']) {
      await assert.rejects(
        store.createBatch({ ...newBatch(), name }),
        (error) =>
          StudioError.is(error, 'storage') &&
          /failed/.test(error.message) &&
          /restart the server/.test(error.hint ?? ''),
      );
    }
    assert.deepEqual(notified, []);
    assert.deepEqual(
      (await store.batches({ limit: 10 })).batches.map(({ name }) => name),
      ['first'],
    );
    await store.close();
  });

  it('commits pending writes before it closes', async () => {
    const place = path.join(folder, 'closing');
    const store = await openStore(place);
    const { session } = await openBatch(store, 1);
    const [lease] = await store.lease(session, 1);
    const appends = [1, 2, 3].map((seq) =>
      store.append({ rollout: lease!.rollout, epoch: 1, from: seq, events: [logLine(seq)] }),
    );
    await appends[0];
    appends.push(store.append({ rollout: lease!.rollout, epoch: 1, from: 4, events: [logLine(4)] }));
    await store.close();
    assert.deepEqual(
      (await Promise.all(appends)).map(({ ok }) => ok),
      [true, true, true, true],
    );
    const reopened = await openStore(place);
    assert.equal((await reopened.rollout(lease!.rollout))?.row.last, 4);
    await reopened.close();
  });

  it('adds one row per group to answer a request, and its rollouts later, also after a kill', async () => {
    const place = path.join(folder, 'pending');
    const killed = path.join(folder, 'pendingAtKill');
    const count = (table: string): unknown => {
      const database = openDatabase(path.join(place, 'store.db'), { readOnly: true });
      const row = database.prepare(`SELECT count(*) AS n FROM ${table}`).get();
      database.close();
      return row?.['n'];
    };
    const store = await openStore(place);
    const spec = newBatch({ group: { size: 2, extra: 0, estimator: 'ms_swift', stale: 'mark' } });
    await store.createBatch(spec);
    await store.addTasks(spec.id, 0, tasks(1));
    const session = newSession(spec.id);
    await store.openSession(session);
    await store.addGroup(spec.id, 'large', { task: 't0', size: 1000, extra: 24 });
    // Nothing else runs between the answer and this.
    assert.deepEqual(['trainer_group', 'task', 'rollout'].map(count), [1, 1, 0]);
    cpSync(place, killed, { recursive: true });
    await store.close();
    assert.equal(count('rollout'), 1024);

    const again = await openStore(killed);
    assert.equal((await again.batch(spec.id))?.row.counts.queued, 1024);
    assert.equal((await again.rollouts(spec.id, { limit: 2000 })).rollouts.length, 1024);
    const leases = await again.lease(session.session, 2000);
    assert.equal(new Set(leases.map(({ attempt }) => attempt)).size, 1024);
    await again.close();
  });

  it('explains why a file is not a store, and leaves it unchanged', async () => {
    const place = path.join(folder, 'foreign');
    await (await openStore(place)).close();
    const file = path.join(place, 'store.db');
    const garbage = Buffer.from('this is not a database, but somebody may want it back\n'.repeat(200));
    await writeFile(file, garbage);
    await assert.rejects(
      openStore(place),
      (error) => StudioError.is(error, 'storage') && /damaged/.test(error.message) && error.hint !== undefined,
    );
    assert.ok((await readFile(file)).equals(garbage));
    await assert.rejects(
      openStore(path.join(file, 'below')),
      (error) => StudioError.is(error, 'storage') && error.hint !== undefined,
    );
  });

  it('upgrades a store of version 1, unless it may only read it', async () => {
    const place = path.join(folder, 'older');
    const store = await openStore(place);
    const { batch, session } = await openBatch(store, 1);
    await store.close();
    const database = openDatabase(path.join(place, 'store.db'), { readOnly: false });
    const groups = ['dataset_task', 'trainer_group', 'group_callback', 'task_count'];
    const access = ['batch_reader', 'blob_upload', 'audit'];
    const usage = ['token_use', 'pod_use'];
    const tables = ['pod_rollout', 'blob_pack', 'endpoint', ...groups, ...access, ...usage];
    for (const table of tables) database.exec(`DROP TABLE ${table}`);
    for (const column of ['pack', 'place']) database.exec(`ALTER TABLE blob DROP COLUMN ${column}`);
    for (const column of ['stored', 'origin']) database.exec(`ALTER TABLE rollout DROP COLUMN ${column}`);
    const delivered = ['filtered_groups', 'filtered_tokens', 'replayed_groups', 'replayed_rollouts', 'pending'];
    const repeated = ['repeated_groups', 'repeated_requests'];
    const band = ['outside', 'outside_attempts', 'moves'];
    const own = ['owner', 'shared', 'trimmed', 'trimming'];
    for (const column of [
      'side_input_tokens',
      'side_output_tokens',
      ...band,
      'spent',
      ...delivered,
      ...repeated,
      ...own,
    ])
      database.exec(`ALTER TABLE batch DROP COLUMN ${column}`);
    for (const column of ['endpoints_rev', 'calls']) database.exec(`ALTER TABLE session DROP COLUMN ${column}`);
    database.exec("UPDATE meta SET value = '1' WHERE name = 'version'");
    database.close();
    await assert.rejects(openStore(place, { readOnly: true }), (error) => StudioError.is(error, 'version'));
    const upgraded = await openStore(place);
    const [lease] = await upgraded.lease(session, 1, 'uid');
    assert.equal(await upgraded.podRollout(batch, 'uid'), lease?.rollout);
    assert.equal(await upgraded.storedBytes(lease?.rollout ?? ''), 0);
    // Batches from before belong to nobody: everybody who may read sees them.
    const { batches } = await upgraded.batches({ limit: 9, reader: 'ann' });
    assert.deepEqual(
      batches.map((row) => [row.batch, row.by]),
      [[batch, undefined]],
    );
    await upgraded.audit.add({ user: 'ann', what: 'launch', result: 'done' });
    assert.equal((await upgraded.audit.list({ limit: 9 })).length, 1);
    await upgraded.usage.addTokens([{ at: await upgraded.now(), queue: '', user: 'ann', tokens: 5 }]);
    assert.equal((await upgraded.usage.tokensSince(0))[0]?.tokens, 5);
    await upgraded.close();
  });

  it('has the tokens of an ended rollout in one pack, which gc removes with its batch', async () => {
    const place = path.join(folder, 'packs');
    const counts = (): unknown => {
      const database = openDatabase(path.join(place, 'store.db'), { readOnly: true });
      const count = (table: string): unknown => database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'];
      const all = ['blob', 'blob_chunk', 'blob_pack'].map(count);
      database.close();
      return all;
    };
    const store = await openStore(place);
    assert.ok(store instanceof SqlStore);
    const { batch, session } = await openBatch(store, 1, { attempts: 1 });
    const [lease] = await store.lease(session, 1);
    const events = await Promise.all(
      [1, 2, 3].map(async (seq) => {
        const bytes = Buffer.from(`tokens of ${seq}`);
        await store.blobs.put(shaOf(bytes), bytes);
        const tokens = { $blob: shaOf(bytes), bytes: bytes.length, media: 'application/json', head: '' };
        return event(seq, 'model.end', { status: 'ok', trainable: true, source: 'live', tokens });
      }),
    );
    await store.append({ rollout: lease?.rollout ?? '', epoch: 1, from: 1, events });
    assert.deepEqual(counts(), [3, 3, 0]);
    assert.ok(lease !== undefined);
    await finish(store, batch, { ...lease, last: 3 });
    await store.pack();
    assert.deepEqual(counts(), [3, 0, 1]);
    await store.gc({ batches: [batch], blobGraceMs: -1, dryRun: false });
    assert.deepEqual(counts(), [0, 0, 0]);
    await store.close();
  });

  it('refuses a store of a newer version, and leaves it unchanged', async () => {
    const place = path.join(folder, 'newer');
    await (await openStore(place)).close();
    const database = openDatabase(path.join(place, 'store.db'), { readOnly: false });
    database.exec("UPDATE meta SET value = '999' WHERE name = 'version'");
    await assert.rejects(
      openStore(place),
      (error) => StudioError.is(error, 'version') && /999/.test(error.message) && /Update/.test(error.hint ?? ''),
    );
    assert.equal(database.prepare("SELECT value FROM meta WHERE name = 'version'").get()?.['value'], '999');
    database.close();
  });

  it('reports when another program holds it', async () => {
    const place = path.join(folder, 'held');
    const store = await openStore(place);
    const other = openDatabase(path.join(place, 'store.db'), { readOnly: false });
    other.exec('BEGIN IMMEDIATE');
    await assert.rejects(
      store.createBatch(newBatch()),
      (error) => StudioError.is(error, 'storage') && /locked/.test(error.message),
    );
    other.exec('ROLLBACK');
    other.close();
    await store.createBatch(newBatch());
    await store.close();
  });
});
