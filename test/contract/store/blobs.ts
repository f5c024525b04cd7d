import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { SqlStore } from '../../../src/store/sqlStore.ts';
import type { Store } from '../../../src/store/store.ts';
import { event, finish, newBatch, newSession, openBatch, shaOf, task, tasks } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

/** More than one pack. */
const ATTEMPTS = 24;

async function contentOf(
  store: Store,
  sha: string,
  range?: { start: number; end?: number },
): Promise<Buffer | undefined> {
  const found = await store.blobs.get(sha, range);
  if (found === undefined) return undefined;
  const parts: Uint8Array[] = [];
  for await (const part of found.bytes) parts.push(part);
  return Buffer.concat(parts);
}

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.byteLength; at += size) {
    await Promise.resolve();
    yield bytes.subarray(at, at + size);
  }
}

async function put(store: Store, size = 100): Promise<string> {
  const bytes = randomBytes(size);
  await store.blobs.put(shaOf(bytes), bytes);
  return shaOf(bytes);
}

export function blobTests(subject: Subject): void {
  describe('blobs', () => {
    it('are counted for each rollout, also by another server', async () => {
      const [store, other] = [subject.store(), subject.other()];
      const { session } = await openBatch(store, 2, { attempts: 1 });
      const [one, two] = await store.lease(session, 2);
      assert.ok(one !== undefined && two !== undefined);
      assert.equal(await store.addStoredBytes(one.rollout, 3_000_000_000), 3_000_000_000);
      assert.equal(await other.addStoredBytes(one.rollout, 3_000_000_000), 6_000_000_000);
      assert.deepEqual(
        await Promise.all([one.rollout, two.rollout, 'r-unknown'].map((rollout) => other.storedBytes(rollout))),
        [6_000_000_000, 0, 0],
      );
    });

    for (const size of [0, 1, 1000, 32 * 1024, 32 * 1024 + 1, 512 * 1024, 2_500_000]) {
      it(`keeps ${size} bytes, at once and in pieces`, async () => {
        const store = subject.store();
        for (const streamed of [false, true]) {
          const bytes = randomBytes(size);
          const sha = shaOf(bytes);
          if (size > 0) assert.equal(await store.blobs.get(sha), undefined);
          await store.blobs.put(sha, streamed ? pieces(bytes, 60_000) : bytes);
          await store.blobs.put(sha, bytes);
          assert.equal((await store.blobs.get(sha))?.size, size);
          assert.ok((await contentOf(subject.other(), sha))?.equals(bytes));
          for (const [start, end] of [
            [0, 0],
            [5, 9],
            [size - 3, undefined],
            [600_000, 1_200_000],
            [size - 1, size + 50],
          ] as const) {
            if (start < 0 || start >= size) continue;
            const part = await contentOf(store, sha, { start, ...(end === undefined ? {} : { end }) });
            assert.ok(
              part?.equals(bytes.subarray(start, end === undefined ? size : end + 1)),
              `${start}-${String(end)}`,
            );
          }
        }
      });
    }

    it('refuses content that does not match its name, and leaves nothing behind', async () => {
      const store = subject.store();
      for (const size of [10, 40_000, 1_200_000]) {
        const sha = shaOf(randomBytes(8));
        const bytes = randomBytes(size);
        await assert.rejects(store.blobs.put(sha, pieces(bytes, 50_000)), (error) => StudioError.is(error, 'usage'));
        assert.equal(await store.blobs.get(sha), undefined);
        await assert.rejects(
          store.blobs.put(
            sha,
            (async function* () {
              yield* pieces(bytes, 10_000);
              throw new Error('the connection broke');
            })(),
          ),
          /connection broke/,
        );
        assert.equal((await store.blobs.has([sha])).size, 0);
      }
      for (const name of ['', '../../etc/passwd', 'A'.repeat(64), 'é'.repeat(64)]) {
        await assert.rejects(store.blobs.put(name, Buffer.from('')), (error) => StudioError.is(error, 'usage'));
        assert.equal(await store.blobs.get(name), undefined);
      }
    });

    it('may be sent by several clients at once', async () => {
      const store = subject.store();
      const bytes = randomBytes(1_300_000);
      const sha = shaOf(bytes);
      await Promise.all([
        store.blobs.put(sha, pieces(bytes, 70_000)),
        subject.other().blobs.put(sha, pieces(bytes, 50_000)),
        store.blobs.put(sha, bytes),
      ]);
      assert.ok((await contentOf(store, sha))?.equals(bytes));
    });

    it('reports which exist, and removes them', async () => {
      const store = subject.store();
      const shas = [await put(store), await put(store, 50_000), shaOf('never put')];
      assert.deepEqual([...(await store.blobs.has(shas))].toSorted(), shas.slice(0, 2).toSorted());
      assert.equal(await store.blobs.remove(shas), 2);
      assert.equal((await store.blobs.has(shas)).size, 0);
    });
  });

  describe('token records of ended rollouts', () => {
    it('are packed while they are read, and read, put, and removed as before', async () => {
      const store = subject.store();
      const other = subject.other();
      assert.ok(store instanceof SqlStore && other instanceof SqlStore);
      const { session, batch } = await openBatch(store, ATTEMPTS, { attempts: 1 });
      const records = new Map<string, Buffer>();
      for (const lease of await store.lease(session, ATTEMPTS)) {
        const { rollout, epoch } = lease;
        const events = await Promise.all(
          Array.from({ length: 12 }, async (_, n) => {
            // The same prompt in each attempt, and something of its own, as in the product. One is large, one in all.
            const bytes = Buffer.from(n === 3 ? 'in all' : `${'17,4,'.repeat(n === 5 ? 9000 : 300)}${rollout}${n}`);
            const sha = shaOf(bytes);
            await store.blobs.put(sha, bytes);
            records.set(sha, bytes);
            const tokens = { $blob: sha, bytes: bytes.length, media: 'application/json', head: '' };
            return event(n + 1, 'model.end', { status: 'ok', trainable: true, source: 'live', tokens });
          }),
        );
        await store.append({ rollout, epoch, from: 1, events });
        await finish(store, batch, { ...lease, last: events.length });
      }
      const check = async (from: Store): Promise<void> => {
        for (const [sha, bytes] of records) assert.ok((await contentOf(from, sha))?.equals(bytes), sha);
      };
      await Promise.all([check(store), store.pack(), other.pack(), check(other)]);
      await check(store);
      await check(other);
      const [[sha, bytes] = ['', Buffer.alloc(0)]] = records;
      assert.equal((await other.blobs.get(sha))?.size, bytes.length);
      assert.ok((await contentOf(store, sha, { start: 3, end: 9 }))?.equals(bytes.subarray(3, 10)));
      await store.blobs.put(sha, bytes);
      assert.ok((await contentOf(other, sha))?.equals(bytes), 'put again');
      const shas = [...records.keys()];
      assert.equal((await store.blobs.has(shas)).size, records.size);
      assert.equal(await store.blobs.remove(shas.slice(0, 5)), 5);
      assert.equal(await contentOf(other, sha), undefined);
      assert.ok((await contentOf(other, shas[5] ?? ''))?.equals(records.get(shas[5] ?? '') ?? Buffer.alloc(0)));
      assert.equal(await store.blobs.remove(shas), records.size - 5);
      assert.equal((await store.blobs.has(shas)).size, 0);
    });
  });

  describe('gc', () => {
    it('removes old batches with everything that only they need', async () => {
      const store = await subject.fresh();
      const named = {
        submission: await put(store),
        extra: await put(store, 40_000),
        file: await put(store),
        tokens: await put(store),
        snapshot: await put(store, 90_000),
        shared: await put(store),
      };
      const nobody = await put(store, 70_000);
      const keeps = await openBatch(store, 1, { attempts: 1, blobs: [named.shared], submission: await put(store) });
      const spec = newBatch({ attempts: 1, submission: named.submission, blobs: [named.extra, named.shared] });
      await store.createBatch(spec);
      await store.addTasks(spec.id, 0, [task('a', { files: [{ name: 'x', sha: named.file, bytes: 1 }] })]);
      await store.seal(spec.id);
      const session = newSession(spec.id);
      await store.openSession(session);
      const [lease] = await store.lease(session.session, 1);
      await store.append({
        rollout: lease!.rollout,
        epoch: 1,
        from: 1,
        events: [
          event(1, 'model.end', {
            status: 'ok',
            trainable: true,
            source: 'live',
            tokens: { $blob: named.tokens, bytes: 100, media: 'application/json', head: '' },
          }),
          event(2, 'world.snapshot', { snapshot: named.snapshot, bytes: 90_000 }),
        ],
      });
      const sweep = { olderThanMs: 0, blobGraceMs: -1 };
      assert.deepEqual(await store.gc({ ...sweep, dryRun: true }), {
        ...{ batches: [], trimmed: [], kept: [], blobs: 1, bytes: 70_000 },
      });
      assert.deepEqual(await store.gc({ batches: [spec.id, 'b-none'], dryRun: false }), {
        batches: [],
        trimmed: [],
        kept: [
          { batch: spec.id, why: 'it has not ended' },
          { batch: 'b-none', why: 'there is no such batch' },
        ],
        blobs: 0,
        bytes: 0,
      });
      await finish(store, spec.id, { ...lease!, last: 2 });
      const bytes = 100 + 40_000 + 100 + 100 + 90_000 + 70_000;
      const expected = { batches: [spec.id], trimmed: [], kept: [], blobs: 6, bytes };
      assert.deepEqual(await store.gc({ ...sweep, dryRun: true }), expected);
      assert.deepEqual((await store.blobs.has([nobody, ...Object.values(named)])).size, 7, 'a dry run removes nothing');
      assert.deepEqual(await store.gc({ ...sweep, dryRun: false }), expected);
      assert.deepEqual([...(await store.blobs.has([nobody, ...Object.values(named)]))], [named.shared]);
      assert.equal(await store.batch(spec.id), undefined);
      assert.equal(await store.rollout(lease!.rollout), undefined);
      await assert.rejects(store.read(lease!.rollout, 0, 1), (error) => StudioError.is(error, 'not_found'));
      assert.equal(
        (
          await store.append({
            rollout: lease!.rollout,
            epoch: 1,
            from: 1,
            events: [event(1, 'log', { stream: 'out', text: '' })],
          })
        ).ok,
        false,
      );
      assert.ok(await store.batch(keeps.batch));
    });

    it('keeps what a living fork reads, and new blobs that nothing references yet', async () => {
      const store = await subject.fresh();
      const parent = await openBatch(store, 1, { attempts: 1 });
      const [lease] = await store.lease(parent.session, 1);
      await finish(store, parent.batch, lease!);
      const lineage = [{ rollout: lease!.rollout, to: 2 }];
      const fork = newBatch({ attempts: 1, parent: { rollout: lease!.rollout, seq: 2, lineage, edits: [] } });
      await store.createBatch(fork);
      await store.addTasks(fork.id, 0, tasks(1));
      const young = await put(store);
      assert.deepEqual(await store.gc({ batches: [parent.batch], dryRun: false }), {
        batches: [],
        trimmed: [],
        kept: [{ batch: parent.batch, why: `batch ${fork.id} reads it` }],
        blobs: 0,
        bytes: 0,
      });
      await store.seal(fork.id);
      await store.closeRollouts({ batch: fork.id }, { status: 'cancelled', reason: 'enough' }, false);
      assert.deepEqual((await store.gc({ olderThanMs: 60_000, dryRun: false })).batches, []);
      assert.deepEqual(
        (await store.gc({ olderThanMs: 0, dryRun: false })).batches.toSorted(),
        [parent.batch, fork.id].toSorted(),
      );
      assert.equal((await store.blobs.has([young])).size, 1);
      assert.deepEqual((await store.batches({ limit: 9 })).batches, []);
    });
  });
}
