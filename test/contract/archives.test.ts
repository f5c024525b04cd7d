/** Backups and copies of batches, between both kinds of stores. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import { ARCHIVE_MAGIC, type ArchiveFrame, type BackupEnd, FrameReader, framesOf } from '../../src/protocol/archive.ts';
import { STORE_VERSION } from '../../src/protocol/version.ts';
import { rowsFrame } from '../../src/store/archive/codec.ts';
import { ARCHIVED, LEFT_OUT } from '../../src/store/archive/tables.ts';
import { openStore } from '../../src/store/open.ts';
import { MIGRATIONS, POD_USE } from '../../src/store/sql/schema.ts';
import type { Store } from '../../src/store/store.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import {
  fillStore,
  LARGE,
  plainRow,
  postgresTables,
  type RichStore,
  sqliteTables,
  type Tables,
} from '../support/richStore.ts';
import { eventsOf, newBatch, openBatch, shaOf, tasks } from '../support/trajectories.ts';

const KINDS = ['sqlite', 'postgres'] as const;
type Kind = (typeof KINDS)[number];

interface TestPlace {
  readonly store: Store;
  tables(): Promise<Tables>;
  /** Changes the database as if a server had died in between. */
  change(sql: string): Promise<unknown>;
}

interface Archive {
  readonly frames: readonly ArchiveFrame[];
  readonly end: BackupEnd;
  readonly storeVersion: number;
}

async function backupOf(store: Store): Promise<Archive> {
  const reader = new FrameReader();
  const frames: ArchiveFrame[] = [];
  let skip = ARCHIVE_MAGIC.length;
  await store.archive.backup(async (bytes) => {
    const rest = bytes.subarray(skip);
    skip = Math.max(0, skip - bytes.byteLength);
    // A frame may arrive in any pieces.
    for (let at = 0; at < rest.byteLength; at += 5000) frames.push(...reader.add(rest.subarray(at, at + 5000)));
    await Promise.resolve();
  }, new AbortController().signal);
  reader.end();
  const start = frames.shift()?.header;
  const end = frames.pop()?.header;
  assert.ok(start?.kind === 'archive' && end?.kind === 'end');
  return { frames, end, storeVersion: start.store_version };
}

async function restore(store: Store, { frames, end, storeVersion }: Archive, resume = false) {
  const about = {
    sha256: end.sha256,
    store_version: storeVersion,
    created_at: 1,
    frames: frames.length,
    rows: end.rows,
  };
  let done = (await store.archive.beginRestore(about)).frames;
  for (; done < frames.length; )
    done = (await store.archive.restore(end.sha256, done, frames.slice(done, done + 7))).frames;
  return store.archive.endRestore(end.sha256, resume);
}

/** Copies a batch; `most` pages at most. Returns the number of pages. */
async function copy(from: Store, to: Store, batch: string, most = Infinity, keepOwner = false): Promise<number> {
  const state = await to.archive.copyState(batch);
  let after = state.next;
  for (let pages = 0; pages < most; ) {
    const frames = (await from.archive.copyPage(batch, after)).flatMap(framesOf);
    const last = frames.at(-1)?.header;
    assert.ok(last?.kind === 'page');
    for (const [sha] of last.large) {
      const blob = await from.blobs.get(sha);
      await to.blobs.put(sha, blob!.bytes);
    }
    const usable = (shas: readonly string[]) => to.blobs.has(shas);
    const reply = await to.archive.receiveCopy({ batch, after, frames, user: undefined, keepOwner, usable });
    pages += 1;
    if (reply.state === 'complete') return pages;
    after = reply.next;
  }
  return most;
}

const isConflict = (error: unknown): boolean => StudioError.is(error, 'conflict');
const sorted = (rows: readonly Record<string, unknown>[]): string[] => rows.map((row) => JSON.stringify(row)).sort();

describe('archives', { timeout: 5 * 60_000 }, () => {
  let folder: string;
  let postgres: TestPostgres;
  const opened: Store[] = [];
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-archives-'));
    postgres = await startPostgres();
  });
  after(async () => {
    for (const store of opened) await store.close();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function place(kind: Kind): Promise<TestPlace> {
    const options = { packDelayMs: 5 };
    if (kind === 'postgres') {
      const url = await postgres.createDatabase();
      const store = await openStore(url, options);
      opened.push(store);
      return {
        store,
        tables: () => postgresTables(postgres, url),
        change: (sql) => postgres.query(url, `SET search_path = rollout_studio; ${sql}`),
      };
    }
    const where = path.join(folder, String(opened.length));
    const store = await openStore(where, options);
    opened.push(store);
    return {
      store,
      tables: () => Promise.resolve(sqliteTables(where)),
      change: (sql) => {
        using database = new DatabaseSync(path.join(where, 'store.db'), { timeout: 5_000 });
        database.exec(sql);
        return Promise.resolve();
      },
    };
  }

  async function filled(kind: Kind): Promise<TestPlace & { readonly rich: RichStore }> {
    const made = await place(kind);
    const rich = await fillStore(made.store);
    await made.store.archive.copyPage(rich.ended, undefined); // packs what has ended
    return { ...made, rich };
  }

  for (const from of KINDS)
    for (const to of KINDS)
      it(`restore all tables of a ${from} store in a ${to} store`, async () => {
        const source = await filled(from);
        const target = await place(to);
        const archive = await backupOf(source.store);
        const result = await restore(target.store, archive, true);
        const [before, now] = [await source.tables(), await target.tables()];
        assert.deepEqual(
          Object.keys(now)
            .filter((name) => !(name in LEFT_OUT))
            .sort(),
          ARCHIVED.map(({ table }) => table.name).sort(),
          'a table is neither in archives nor left out: see src/store/archive/tables.ts',
        );
        assert.equal(result.batches, before['batch']?.length);
        assert.equal(result.rollouts, before['rollout']?.length);
        assert.equal(result.unfinished.length, 4);
        const changed = new Set(result.unfinished);
        const ids = new Set(
          before['batch']!.filter(({ name }) => changed.has(String(name))).map(({ id }) => Number(id)),
        );
        const held = new Set(before['rollout']!.filter(({ state }) => Number(state) === 1).map(({ id }) => Number(id)));
        for (const { table, dropped = [] } of ARCHIVED) {
          assert.ok(before[table.name]!.length > 0, `the test has no rows in ${table.name}`);
          const columns = Object.keys(before[table.name]![0]!);
          assert.deepEqual(columns.sort(), Object.keys(table.columns).sort(), `columns of ${table.name}`);
          const comparable = (rows: Record<string, unknown>[]) =>
            sorted(
              rows
                .map(plainRow)
                // What workers held is queued again, and says so.
                .filter((row) => table.name !== 'rollout' || !held.has(Number(row['id'])))
                .filter((row) => table.name !== 'batch' || !ids.has(Number(row['id'])))
                .filter((row) => table.name !== 'event' || !ids.has(-Number(row['stream'])))
                .map((row) =>
                  Object.fromEntries(
                    Object.keys(row)
                      .sort()
                      .filter((name) => !dropped.includes(name))
                      .map((name) => [name, row[name]]),
                  ),
                ),
            );
          // Files are rows in the other store.
          const isLarge = (row: string): boolean => row.includes(shaOf(Buffer.alloc(700_000, 'large')));
          const isBlob = table.name === 'blob' || table.name === 'blob_chunk';
          assert.deepEqual(
            comparable(now[table.name]!).filter((row) => !isBlob || !isLarge(row)),
            comparable(before[table.name]!).filter((row) => !isBlob || !isLarge(row)),
            table.name,
          );
        }
        // New rows get new IDs.
        await openBatch(target.store, 1);
        const blob = await target.store.blobs.get(shaOf(Buffer.alloc(700_000, 'large')));
        assert.equal(shaOf(Buffer.concat(await Array.fromAsync(blob!.bytes))), shaOf(Buffer.alloc(700_000, 'large')));
      });

  it('have the version of the tables', () => {
    assert.equal(STORE_VERSION, MIGRATIONS.length, 'a new step needs a new STORE_VERSION in src/protocol/version.ts');
  });

  it('queue what workers of the original held, and pause it', async () => {
    const source = await filled('sqlite');
    const target = await place('sqlite');
    const before = (await source.store.batch(source.rich.running))!.row;
    assert.deepEqual([before.counts.running, before.counts.queued], [2, 2]);
    const { unfinished } = await restore(target.store, await backupOf(source.store));
    assert.ok(unfinished.includes(source.rich.running));
    const record = (await target.store.batch(source.rich.running))!;
    assert.deepEqual([record.row.counts.running, record.row.counts.queued, record.row.state], [0, 4, 'paused']);
    assert.equal(record.released, true);
    const events = await eventsOf(target.store, source.rich.running);
    assert.match(JSON.stringify(events.at(-2)), /paused, because its original may still run/);
    assert.equal((await target.store.sessions()).length, 0);
  });

  it('are of one state of the store, whatever is written and removed in the meantime', async () => {
    for (const kind of KINDS) {
      const source = await filled(kind);
      const later: string[] = [];
      let counted = 0;
      const reader = new FrameReader();
      let first = true;
      await source.store.archive.backup(async (bytes) => {
        const frames = first ? [] : reader.add(bytes);
        if (first) later.push((await openBatch(source.store, 2)).batch);
        first = false;
        for (const { header } of frames)
          if (header.kind === 'rows' && header.table === 'task') {
            counted += header.rows;
            later.push((await openBatch(source.store, 2)).batch);
            await assert.rejects(source.store.gc({ dryRun: false }), (error) => StudioError.is(error, 'unavailable'));
          }
      }, new AbortController().signal);
      const { tasks: after } = { tasks: (await source.tables())['task']!.length };
      assert.ok(later.length >= 2);
      // The first one was added before the first statement of the snapshot.
      assert.ok(counted <= after - 2 * (later.length - 1), `${counted} of ${after}`);
      await source.store.gc({ dryRun: false });
    }
  });

  it('are refused by a store that is not empty, and by an older server, which change nothing', async () => {
    const archive = await backupOf((await filled('sqlite')).store);
    const full = await place('postgres');
    await openBatch(full.store, 1);
    const before = await full.tables();
    await assert.rejects(restore(full.store, archive), (error) => {
      assert.match(String(error), /is not empty: it has 1 batch/);
      return isConflict(error);
    });
    assert.deepEqual(await full.tables(), before);
    const empty = await place('sqlite');
    await assert.rejects(restore(empty.store, { ...archive, storeVersion: 999 }), (error) => {
      assert.match(String(error), /newer Rollout Studio \(store version 999/);
      return StudioError.is(error, 'version');
    });
    assert.deepEqual((await empty.tables())['batch'], []);
  });

  it('are continued after an interruption, and show nothing before their end', async () => {
    for (const kind of KINDS) {
      const archive = await backupOf((await filled('sqlite')).store);
      const { store } = await place(kind);
      const { frames, end, storeVersion } = archive;
      const about = { sha256: end.sha256, store_version: storeVersion, created_at: 1, frames: frames.length, rows: {} };
      await store.archive.beginRestore(about);
      const half = Math.floor(frames.length / 2);
      await store.archive.restore(end.sha256, 0, frames.slice(0, half));
      await store.archive.restore(end.sha256, 0, frames.slice(0, half + 1)); // an answer was lost
      assert.deepEqual((await store.batches({ limit: 10 })).batches, []);
      await assert.rejects(store.archive.endRestore(end.sha256, false), isConflict);
      await store.gc({ dryRun: false, blobGraceMs: 0 }); // removes nothing of it
      const result = await restore(store, archive);
      assert.equal(result.batches, (await store.batches({ limit: 100 })).batches.length);
      // Another archive takes the place of one that was not completed.
      const other = await place(kind);
      await other.store.archive.beginRestore({ ...about, sha256: shaOf('other') });
      await other.store.archive.restore(shaOf('other'), 0, frames.slice(0, half));
      assert.equal((await restore(other.store, archive)).batches, result.batches);
    }
  });

  for (const from of KINDS)
    for (const to of KINDS)
      it(`copy batches of a ${from} store to a ${to} store`, async () => {
        const source = await filled(from);
        const target = await place(to);
        await openBatch(target.store, 3); // other IDs
        const { ended, fork, owned } = source.rich;
        await assert.rejects(copy(source.store, target.store, fork), (error) => {
          assert.match(String(error), new RegExp(`reads the events of ${ended}`));
          return isConflict(error);
        });
        await assert.rejects(source.store.archive.copyPage(source.rich.running, undefined), isConflict);
        for (const batch of [ended, fork, owned]) {
          await copy(source.store, target.store, batch, Infinity, true);
          assert.equal((await target.store.archive.copyState(batch)).state, 'complete');
          assert.deepEqual((await target.store.batch(batch))!.row, (await source.store.batch(batch))!.row);
          assert.deepEqual(await eventsOf(target.store, batch), await eventsOf(source.store, batch));
          const all = { limit: 100, all: true };
          const { rollouts } = await source.store.rollouts(batch, all);
          assert.deepEqual((await target.store.rollouts(batch, all)).rollouts, rollouts);
          assert.deepEqual(
            await target.store.tasks(batch, { limit: 99 }),
            await source.store.tasks(batch, { limit: 99 }),
          );
          for (const { rollout } of rollouts)
            assert.deepEqual(await eventsOf(target.store, rollout), await eventsOf(source.store, rollout));
          const hours = await source.store.usage.podTotals({ batch });
          assert.deepEqual(await target.store.usage.podTotals({ batch }), hours);
          assert.equal(hours.length, batch === ended ? 1 : 0);
          const refs = async (of: TestPlace): Promise<unknown[]> => {
            const found = await of.tables();
            const id = Number(found['batch']!.find(({ name }) => name === batch)!['id']);
            return found['blob_ref']!.filter((row) => Number(row['batch']) === id)
              .map(({ sha }) => sha)
              .sort();
          };
          const missing = new Set([shaOf('submission')]); // the source has none
          assert.deepEqual(
            await refs(target),
            (await refs(source)).filter((sha) => !missing.has(String(sha))),
          );
        }
        const packed = (await target.tables())['blob']!.filter(({ pack }) => pack !== null);
        assert.equal(packed.length, 6, 'the tokens are packed');
        assert.deepEqual((await target.store.batch(owned))!.row.shared, ['carl', 'ada']);
        assert.deepEqual([...(await target.store.sharing.readable('carl', [shaOf('x')]))], []);
        // Its pods ran elsewhere: nobody here used them, not even once the copy is removed.
        assert.deepEqual(await target.store.usage.podTotals(), []);
        const further = await place(from);
        await copy(target.store, further.store, ended);
        const used = { queue: 'research', user: 'ann', model: 'm', cpuSeconds: 1.5, gpuSeconds: 1 };
        assert.deepEqual(await further.store.usage.podTotals({ batch: ended }), [used], 'a copy of a copy has them');
        await further.store.gc({ batches: [ended], dryRun: false });
        const left = await further.tables();
        assert.deepEqual([left['pod_use'], await further.store.usage.podTotals()], [[], []]);
      });

  for (const [from, to] of [KINDS, KINDS.toReversed()] as [Kind, Kind][])
    it(`have batches as they were trimmed, of a ${from} store in a ${to} store`, async () => {
      const source = await filled(from);
      const { ended, fork } = source.rich;
      await source.store.gc({ batches: [ended, fork], trim: () => ({ rule: 'rule 1' }), dryRun: false });
      const restored = await place(to);
      await restore(restored.store, await backupOf(source.store));
      const copied = await place(to);
      for (const batch of [ended, fork]) await copy(source.store, copied.store, batch, Infinity, true);
      for (const { store } of [restored, copied])
        for (const batch of [ended, fork]) {
          const { row } = (await store.batch(batch))!;
          assert.equal(row.trimmed?.rule, 'rule 1');
          assert.deepEqual(row, (await source.store.batch(batch))!.row);
          const all = { limit: 100, all: true };
          const { rollouts } = await source.store.rollouts(batch, all);
          assert.deepEqual((await store.rollouts(batch, all)).rollouts, rollouts);
          for (const { rollout } of rollouts) {
            const events = await eventsOf(source.store, rollout);
            assert.ok(events.length > 0 && events.every(({ kind }) => kind !== 'model.end'), rollout);
            assert.deepEqual(await eventsOf(store, rollout), events);
          }
          assert.deepEqual((await store.gc({ batches: [batch], trim: () => ({}), dryRun: false })).trimmed, []);
        }
      const attached = await copied.store.blobs.has([shaOf(LARGE)]);
      assert.equal(attached.size, 1, 'files of tasks are copied');
    });

  for (const kind of KINDS) {
    it(`of batches in a ${kind} store wait until their trajectories are dropped`, async () => {
      const source = await filled(kind);
      const { store } = source;
      const { ended } = source.rich;
      await source.change(`UPDATE batch SET trimmed = '{"at":1}', trimming = 1 WHERE ended_at IS NOT NULL`);
      await assert.rejects(store.archive.copyPage(ended, undefined), (error) => {
        assert.ok(StudioError.is(error, 'unavailable'));
        return error.message === `The trajectories of batch ${ended} are being trimmed.`;
      });
      await store.gc({ dryRun: false }); // completes what was interrupted
      const target = await place(kind);
      assert.ok((await copy(store, target.store, ended)) >= 1);
    });

    it(`that begin while a ${kind} store is trimmed keep the files that they read`, async () => {
      const { store, rich } = await filled(kind);
      const unused = randomBytes(100);
      const sha = shaOf(unused);
      await store.blobs.put(sha, unused);
      const isTrimmed = Promise.withResolvers<undefined>();
      let backup: Promise<void> | undefined;
      const unwatch = store.watch((changed) => {
        if (changed.includes(rich.fork))
          backup ??= store.archive.backup(() => isTrimmed.promise, new AbortController().signal);
      });
      const options = { dryRun: false, blobGraceMs: -1 };
      const trim = { batches: [rich.ended, rich.fork], trim: () => ({ by: 'ada' }) };
      try {
        await assert.rejects(store.gc({ ...options, ...trim }), (error) => StudioError.is(error, 'unavailable'));
      } finally {
        isTrimmed.resolve(undefined);
        unwatch();
      }
      assert.ok(backup);
      await backup;
      assert.equal((await store.blobs.has([sha])).size, 1);
      await store.gc(options);
      assert.equal((await store.blobs.has([sha])).size, 0);
    });
  }

  it('of batches belong to who copies them', async () => {
    const source = await filled('sqlite');
    const { store } = await place('sqlite');
    const batch = source.rich.owned;
    const frames = (await source.store.archive.copyPage(batch, undefined)).flatMap(framesOf);
    const usable = (shas: readonly string[]) => store.blobs.has(shas);
    const state = await store.archive.receiveCopy({
      ...{ batch, after: undefined, frames, user: 'dora', keepOwner: false, usable },
    });
    assert.equal(state.state, 'complete');
    const { row } = (await store.batch(batch))!;
    assert.deepEqual([row.by, row.shared], ['dora', []]);
    assert.deepEqual((await store.batches({ limit: 10, reader: 'carl' })).batches, []);
  });

  it('of batches are invisible until they are complete, continue, and begin again if the batch changed', async () => {
    const source = await place('sqlite');
    const { batch, session } = await openBatch(source.store, 40, { attempts: 1 });
    const noise = (n: number): string => Array.from({ length: 6_000 }, (_, k) => shaOf(`${n}.${k}`)).join('');
    for (const [n, lease] of (await source.store.lease(session, 50)).entries()) {
      const { wholeRollout, event } = await import('../support/trajectories.ts');
      const whole = wholeRollout(1, lease, batch);
      const logs = [event(whole.length, 'log', { stream: 'out', text: noise(n) })];
      const events = [...whole.slice(0, -1), ...logs, { ...whole.at(-1)!, seq: whole.length + 1 }];
      await source.store.append({ rollout: lease.rollout, epoch: lease.epoch, from: 1, events });
    }
    for (const kind of KINDS) {
      const target = await place(kind);
      await copy(source.store, target.store, batch, 1);
      assert.equal((await target.store.archive.copyState(batch)).state, 'importing');
      assert.equal(await target.store.batch(batch), undefined);
      assert.deepEqual((await target.store.batches({ limit: 10 })).batches, []);
      await target.store.gc({ dryRun: false, blobGraceMs: 0 });
      assert.ok((await copy(source.store, target.store, batch)) >= 2, 'it continues');
      const all = await target.store.rollouts(batch, { limit: 100 });
      assert.equal(all.rollouts.length, 40);
      assert.equal((await eventsOf(target.store, all.rollouts[0]!.rollout)).length, all.rollouts[0]!.last);
      // A copy that was given up is removed.
      const other = await place(kind);
      await copy(source.store, other.store, batch, 1);
      await other.store.archive.dropCopy(batch, undefined);
      const tables = await other.tables();
      for (const name of ['batch', 'rollout', 'event', 'task', 'blob_ref']) assert.deepEqual(tables[name], [], name);
      await copy(source.store, other.store, batch, 1);
      await source.store.addBatchEvent(batch, 'note', { by: 'ada', text: 'later' });
      await assert.rejects(copy(source.store, other.store, batch), (error) => {
        assert.ok(StudioError.is(error, 'conflict'));
        return error.details?.['stale'] === true;
      });
    }
  });

  it('of batches are refused if anything in them is not valid', async () => {
    const source = await filled('sqlite');
    const target = await place('sqlite');
    const { store } = target;
    const batch = source.rich.ended;
    const frames = (await source.store.archive.copyPage(batch, undefined)).flatMap(framesOf);
    const usable = (shas: readonly string[]) => store.blobs.has(shas);
    const send = (sent: readonly ArchiveFrame[]) =>
      store.archive.receiveCopy({ batch, after: undefined, frames: sent, user: 'eve', keepOwner: false, usable });
    // A blob that only its hash is known of.
    await assert.rejects(send(frames.filter(({ header }) => header.kind !== 'blobs')), /which was not sent/);
    const events = frames.filter(({ header }) => header.kind === 'rows' && header.table === 'event');
    await assert.rejects(send(frames.filter((frame) => frame !== events[0])), /events of .* are missing|not sent/);
    const broken = frames.map((frame) => {
      if (frame !== events[0]) return frame;
      const payload = Uint8Array.from(frame.payload);
      payload[payload.length - 20]! ^= 0xff;
      return { ...frame, payload };
    });
    await assert.rejects(send(broken), /cannot be unpacked|is not/);
    const large = frames.flatMap(({ header }) => (header.kind === 'page' ? header.large : []));
    for (const [sha] of large) await store.blobs.put(sha, (await source.store.blobs.get(sha))!.bytes);
    for (const wrong of [{ until_at: 0 }, { gpus: -1 }, { cpus: 1e12 }, { owner: 'ann' }]) {
      const columns = Object.keys(POD_USE.columns);
      const ran = { uid: '"u"', batch: '"b"', queue: '""', owner: '"ann"', model: '"m"', from_at: 1_000 };
      const frame = await rowsFrame(POD_USE, columns, [{ ...ran, until_at: 2_000, cpus: 1, gpus: 1, ...wrong }]);
      const sent = [...frames.slice(0, -1), ...framesOf(frame), ...frames.slice(-1)];
      await assert.rejects(send(sent), /the use of a pod is not valid/, JSON.stringify(wrong));
    }
    assert.deepEqual((await target.tables())['batch'], []);
    await store.createBatch(newBatch());
    await store.addTasks((await store.batches({ limit: 1 })).batches[0]!.batch, 0, tasks(1));
  });
});
