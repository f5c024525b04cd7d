/**
 * How fast a store accepts events, without a server: `npm run bench store`, or `node test/perf/store.bench.ts
 * postgres`. Acknowledged means on disk: PostgreSQL runs with fsync here.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openStore } from '../../src/store/open.ts';
import { SqlStore } from '../../src/store/sqlStore.ts';
import type { Lease, Store } from '../../src/store/store.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { startPostgres } from '../support/postgres.ts';
import { endOf, event, logLines, newSession, openBatch, tasks } from '../support/trajectories.ts';

type Result = Record<string, string | number>;

/** Appends of 100 events of 400 bytes by 8 concurrent writers, each waiting for its acknowledgment. */
async function bulk(store: Store): Promise<Result> {
  const { session } = await openBatch(store, 8, { attempts: 1 });
  const leases = await store.lease(session, 8);
  const rounds = 100;
  const { cpu, ms } = await measured(() =>
    Promise.all(
      leases.map(async ({ rollout, epoch }) => {
        for (let n = 0; n < rounds; n++) await must(store, rollout, epoch, logLines(n * 100 + 1, 100, 400));
      }),
    ),
  );
  const events = 8 * rounds * 100;
  return {
    what: '8 x 100 events of 400 B',
    'events/s': Math.round((events / ms) * 1000),
    'cpu us/event': (cpu / events).toFixed(1),
  };
}

/** The pattern of rollouts: few events at a time, from many at once, acknowledged before the next step. */
async function steps(store: Store, folder: string | undefined): Promise<Result> {
  const [count, each] = [64, 40];
  await store.gc({ dryRun: false }); // returns freed pages
  const before = folder === undefined ? 0 : await sizeOf(folder);
  const { session } = await openBatch(store, count, { attempts: 1 });
  const leases = await store.lease(session, count);
  const { cpu, ms } = await measured(() => Promise.all(leases.map((lease) => rollout(store, lease, each))));
  const packing = await measured(() => (store instanceof SqlStore ? store.pack() : Promise.resolve()));
  await store.gc({ dryRun: false });
  const bytes = folder === undefined ? 'n/a' : ((await sizeOf(folder)) - before) / (count * each);
  return {
    what: `${count} rollouts x ${each} steps of 6 events`,
    'steps/s': Math.round(((count * each) / ms) * 1000),
    'cpu us/step': (cpu / (count * each)).toFixed(0),
    'pack us/step': (packing.cpu / (count * each)).toFixed(0),
    'bytes/step': typeof bytes === 'number' ? Math.round(bytes) : bytes,
  };
}

async function rollout(store: Store, lease: Lease, count: number): Promise<void> {
  let seq = 0;
  const next = (): number => ++seq;
  const append = (events: TraceEvent[]): Promise<void> => must(store, lease.rollout, lease.epoch, events);
  const text = (): string => Math.random().toString(36).slice(2).repeat(12);
  const [a, b] = [next(), next()];
  await append([
    event(a, 'rollout.start', { batch: 'b', task: 't', attempt: 1, try: 1 }),
    event(b, 'rollout.lease', { epoch: 1, worker: 'w', how: 'fresh' }),
  ]);
  for (let step = 1; step <= count; step++) {
    const model = next();
    await append([
      event(
        model,
        'model.start',
        {
          step,
          model: 'Qwen/Qwen3-32B',
          endpoint: 'http://gpu-1:8000/v1',
          context: [[1, 2 * step]],
          sampling: { temperature: 1, top_p: 0.95, max_tokens: 4096 },
        },
        { agent: 'desk' },
      ),
    ]);
    const [message, end, start] = [next(), next(), next()];
    await append([
      event(
        message,
        'message',
        {
          m: 2 * step + 1,
          role: 'assistant',
          parts: [
            { type: 'text', content: text() },
            { type: 'tool_call', id: `call_${step}`, name: 'find_member', arguments: { name: text() } },
          ],
          origin: 'sampled',
        },
        { agent: 'desk', span: model },
      ),
      event(
        end,
        'model.end',
        {
          status: 'ok',
          m: 2 * step + 1,
          finish_reason: 'tool_calls',
          usage: { input_tokens: 1234, output_tokens: 56 },
          ms: Math.random() * 1000,
          first_ms: Math.random() * 100,
          trainable: true,
          source: 'live',
        },
        { agent: 'desk', span: model },
      ),
      event(
        start,
        'tool.start',
        { call: `call_${step}`, name: 'find_member', arguments: { name: text() }, effect: 'pure' },
        { agent: 'desk', parent: model },
      ),
    ]);
    const [answer, done] = [next(), next()];
    await append([
      event(
        answer,
        'message',
        {
          m: 2 * step + 2,
          role: 'tool',
          parts: [{ type: 'tool_call_response', id: `call_${step}`, response: { found: text() } }],
          origin: 'tool',
        },
        { agent: 'desk', span: start },
      ),
      event(
        done,
        'tool.end',
        { status: 'ok', m: 2 * step + 2, ms: Math.random(), source: 'live' },
        { agent: 'desk', span: start },
      ),
    ]);
  }
  await append([event(next(), 'rollout.end', endOf({}, count))]);
}

async function large(store: Store): Promise<Result[]> {
  const { batch } = await openBatch(store, 1, { attempts: 1 });
  const spec = (await store.batch(batch))?.spec;
  if (spec === undefined) throw new Error('no batch');
  const wide = { ...spec, id: `${spec.id}w`, attempts: 32 };
  await store.createBatch(wide);
  const queued = await measured(async () => {
    for (let at = 0; at < 6250; at += 1000)
      await store.addTasks(wide.id, at, tasks(6250).slice(at, Math.min(at + 1000, 6250)));
  });
  const list = await measured(() => store.rollouts(wide.id, { limit: 500 }));
  const deep = await measured(() => store.rollouts(wide.id, { limit: 500, after: '6200.5.1' }));
  const one = await measured(() => store.rollouts(wide.id, { limit: 500, task: 't6000' }));
  const { session } = newSession(wide.id);
  await store.openSession(newSession(wide.id, { session }));
  const leased = await measured(() => store.lease(session, 64));
  const rows = await measured(() => store.rowsSince(wide.id, 0, 500));
  return [
    { what: 'queue 200,000 attempts', ms: Math.round(queued.ms) },
    { what: 'list its first 500', ms: list.ms.toFixed(1) },
    { what: 'list 500 from its end', ms: deep.ms.toFixed(1) },
    { what: 'list one task', ms: one.ms.toFixed(1) },
    { what: 'lease 64', ms: leased.ms.toFixed(1) },
    { what: 'its first 500 rows by rev', ms: rows.ms.toFixed(1) },
  ];
}

/** A stream of 337,000 events of 370 bytes, compressed as it is some time after its end. */
async function long(store: Store): Promise<Result[]> {
  const { session } = await openBatch(store, 1, { attempts: 1 });
  const [lease] = await store.lease(session, 1);
  if (lease === undefined) throw new Error('no lease');
  const N = 337_000;
  const write = async (): Promise<void> => {
    for (let from = 1; from < N; from += 1000)
      await must(store, lease.rollout, 1, logLines(from, Math.min(1000, N - from), 370));
    await must(store, lease.rollout, 1, [event(N, 'rollout.end', endOf({}))]);
  };
  const written = await measured(write);
  const packed = await measured(() => (store instanceof SqlStore ? store.pack() : Promise.resolve()));
  let slowest = 0;
  for (const after of [0, N / 2, N - 100, 12_345, 300_000])
    slowest = Math.max(slowest, (await measured(() => store.read(lease.rollout, after, 256 * 1024))).ms);
  return [
    { what: 'write 337,000 events', ms: Math.round(written.ms) },
    { what: 'compress them', ms: Math.round(packed.ms) },
    { what: 'read 256 KB of them anywhere, slowest', ms: slowest.toFixed(1) },
  ];
}

async function must(store: Store, rollout: string, epoch: number, events: readonly TraceEvent[]): Promise<void> {
  const result = await store.append({ rollout, epoch, from: events[0]?.seq ?? 1, events });
  if (!result.ok) throw new Error(result.message);
}

async function measured(work: () => Promise<unknown>): Promise<{ ms: number; cpu: number }> {
  const [cpu, start] = [process.cpuUsage(), performance.now()];
  await work();
  const used = process.cpuUsage(cpu);
  return { ms: performance.now() - start, cpu: used.user + used.system };
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(path.join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}

async function main(): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-bench-'));
  const postgres = process.argv[2] === 'postgres' ? await startPostgres({ fsync: true }) : undefined;
  try {
    const store = await openStore(
      postgres === undefined ? path.join(folder, 'store') : await postgres.createDatabase(),
      { packDelayMs: 3_600_000 },
    );
    const sized = postgres === undefined ? path.join(folder, 'store') : undefined;
    console.table([await bulk(store), await bulk(store)]);
    console.table([await steps(store, sized), await steps(store, sized)]);
    console.table([...(await large(store)), ...(await long(store))]);
    await store.close();
  } finally {
    await postgres?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
