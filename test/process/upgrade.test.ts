/** Servers are upgraded and rolled back while workers of the other version run their rollouts. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { WORKER_PROTOCOL } from '../../src/protocol/version.ts';
import { Bench } from '../support/cli.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { additionTask, assertWhole, eventsOf, submission } from '../support/directed.ts';
import { FakeWorker } from '../support/fakeWorker.ts';
import { BuiltVersion } from '../support/otherVersion.ts';
import { plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';

const TASKS = 6;
const STEPS = 8;

describe('an upgrade', { timeout: 240_000 }, () => {
  let older: BuiltVersion;
  let newer: BuiltVersion;
  let demo: DemoServer;
  const bench = new Bench({ where: [] });
  before(async () => {
    [older, newer] = await Promise.all([
      BuiltVersion.build({ worker: WORKER_PROTOCOL - 1 }),
      BuiltVersion.build({ worker: WORKER_PROTOCOL + 1, store: 9999 }),
    ]);
    demo = await startDemoServer({ settings: 'latency_ms=60' });
  });
  after(async () => {
    older[Symbol.dispose]();
    newer[Symbol.dispose]();
    await demo.close();
    await bench.close();
  });

  /** Runs a batch whose server is replaced in the middle. Returns the second server. */
  async function replaced(
    store: TestStore,
    first: string | undefined,
    worker: string | undefined,
    second: string | undefined,
  ): Promise<TestServer> {
    const calls = demo.counters().calls;
    const server = await store.start(undefined, {}, first);
    const batch = await server.submit(
      submission({ attempts: 1 }, demo.url),
      Array.from({ length: TASKS }, (_, n) => additionTask(`t${n}`, STEPS)),
    );
    const running = await TestWorker.start(store, server, batch, { slots: 3 }, {}, worker);
    while ((await server.api.batch(batch)).steps < 8) await new Promise((resolve) => setTimeout(resolve, 20));
    server.process.kill('SIGTERM');
    assert.equal(await server.exited, 0, server.stderr);
    const next = await store.start(undefined, {}, second);
    assert.equal(await running.exited, 0, running.stderr);
    const row = await next.api.batch(batch);
    assert.deepEqual([row.state, row.counts.passed], ['ended', TASKS]);
    for (const { rollout } of (await next.api.rollouts(batch)).rollouts) {
      const events = await eventsOf(next, rollout);
      assertWhole(events);
      assert.equal(events.filter(({ kind }) => kind === 'rollout.lease').length, 1, 'the same worker to the end');
    }
    assert.equal(demo.counters().calls - calls, TASKS * (STEPS + 1), 'no call is made again');
    return next;
  }

  it('to the next version keeps workers of this one; the store is refused by this one then', async () => {
    await using store = new TestStore();
    const early = await store.start();
    const kept = await early.submit(plainSubmission({ attempts: 1 }), tasks(1));
    await early.api.commandBatch(kept, { command: 'c1', verb: 'cancel' });
    const file = bench.path('before.rollouts');
    await bench.json(['backup', file, '--store', store.folder]);
    await early.kill('SIGTERM');

    const next = await replaced(store, undefined, undefined, newer.file('server'));
    await next.kill('SIGTERM');
    const old = await store.start();
    const line = await old.ready;
    assert.ok(line.type === 'failed');
    assert.equal(line.code, 'version');
    assert.match(
      line.message,
      /was written by a newer Rollout Studio \(store version 9999; this version supports \d+\)/,
    );
    assert.match(line.hint ?? '', /restore a backup that was made before the upgrade: rollout restore FILE/);
    assert.equal(await old.exited, 2);

    const place = path.join(bench.folder, 'back');
    const restored = await bench.json<{ batches: number }>(['restore', file, '--store', place]);
    assert.equal(restored.batches, 1);
    const report = await bench.json<{ batch: string; cancelled: number }>(['report', kept, '--store', place]);
    assert.deepEqual([report.batch, report.cancelled], [kept, 1]);
    process.kill(bench.serverFile(place)!.pid, 'SIGTERM');
  });

  it('from the previous version keeps its workers', async () => {
    await using store = new TestStore();
    await replaced(store, older.file('server'), older.file('worker'), undefined);
  });

  it('can be rolled back to the previous version, which keeps workers of this one', async () => {
    await using store = new TestStore();
    await replaced(store, undefined, undefined, older.file('server'));
  });

  it('refuses workers of versions that are too far away, and says so', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(1));
    for (const protocol of [WORKER_PROTOCOL - 2, WORKER_PROTOCOL + 2]) {
      const token = await server.workerToken(batch);
      await assert.rejects(FakeWorker.connect(server.url, token, { protocol }), (error) => {
        assert.match(String(error), new RegExp(`1008.*uses protocol ${protocol}; this server works with`, 's'));
        return true;
      });
    }
  });

  it('ignores frames of a newer worker that it does not know', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const batch = await server.submit(plainSubmission({ attempts: 2 }), tasks(1));
    const token = await server.workerToken(batch);
    const unknown = { type: 'telepathy', thought: 1 } as never;
    const current = await FakeWorker.connect(server.url, token);
    assert.equal(current.welcome.protocol, WORKER_PROTOCOL);
    current.send(unknown);
    assert.equal((await current.frames.closed).code, 1008);
    const next = await FakeWorker.connect(server.url, token, { protocol: WORKER_PROTOCOL + 1 });
    next.send(unknown);
    const [grant] = await next.lease(1);
    await next.finish(grant!, { passed: true });
    next.close();
  });
});
