/** A batch over a published code world, from its files to the verdict: undisturbed, killed midway, and forked. */
import assert from 'node:assert/strict';
import { globSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { newId } from '../../src/common/ids.ts';
import type { EventOf, TraceEvent } from '../../src/trace/schema.ts';
import { Bench } from '../support/cli.ts';
import { assertWhole, eventsOf, until } from '../support/directed.ts';
import { type TestServer, TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';
import { countRows, type Rows, rowsOf } from './support/databases.ts';
import { savedDatabase, submitGardens, writeGardenBatch } from './support/gardenBatch.ts';

/** Harvests, then the task itself. A snapshot is taken after 16 calls that changed something. */
const QUESTION = [
  'call record_harvest {"planting_id": 1, "kilograms": 1} times 20',
  'call assign_plot {"plot_id": 3, "gardener_id": 3}',
  'call list_plots {"free": true}',
  'answer done',
].join('\n');

const BRANCHES = 3;

let folder: string;

before(async () => {
  folder = await writeGardenBatch({ questions: { plot: QUESTION } });
});

after(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the rollout of a batch with its events, once it has ended. */
async function ended(server: TestServer, batch: string): Promise<{ rollout: string; events: readonly TraceEvent[] }> {
  return until(server, batch, (events) => events.at(-1)?.kind === 'rollout.end');
}

const of = <K extends TraceEvent['kind']>(events: readonly TraceEvent[], kind: K): EventOf<K>[] =>
  events.filter((event): event is EventOf<K> => event.kind === kind);

/** The state at the end: the pages that differ from the template. */
function finalState(events: readonly TraceEvent[]): string | undefined {
  return of(events, 'world.snapshot').at(-1)?.data.snapshot;
}

describe('a batch over a code world', { timeout: 300_000 }, () => {
  let undisturbed: readonly TraceEvent[];

  test('ends with the verdict of the published verifier', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const batch = await submitGardens(folder, server);
    await using worker = await TestWorker.start(store, server, batch);
    assert.equal(await worker.exited, 0, worker.stderr);
    const { events } = await ended(server, batch);
    assertWhole(events);
    undisturbed = events;
    const [opened] = of(events, 'world.open');
    assert.equal(opened?.data.scenario, 'garden');
    assert.deepEqual(opened.data.clock, { start: '2026-03-16T09:00:00Z', step: 1 });
    const [score] = of(events, 'score');
    assert.deepEqual([score?.data.value, score?.data.passed], [1, true], JSON.stringify(score?.data));
    const effects = new Map(of(events, 'tool.start').map(({ data }) => [data.name, data.effect]));
    assert.deepEqual(Object.fromEntries(effects), {
      ...{ record_harvest: 'restorable', assign_plot: 'restorable' },
      list_plots: 'pure', // as the lint of the submit found
    });
    assert.equal(of(events, 'tool.end').filter(({ data }) => data.status === 'ok').length, 22);
    assert.notEqual(finalState(events), undefined);
  });

  test('runs with one command', async () => {
    const bench = new Bench({ env: { XDG_CACHE_HOME: path.join(folder, 'cache') } });
    try {
      const report = await bench.json<{ passed: number; attempts: number }>([
        'run',
        path.join(folder, 'batches', 'garden.batch.yaml'),
      ]);
      assert.deepEqual([report.passed, report.attempts], [1, 1]);
    } finally {
      await bench.close();
    }
  });

  test('continues in the same world after its worker was killed, and so does a fork', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const batch = await submitGardens(folder, server);
    await server.api.commandBatch(batch, {
      command: newId('c'),
      verb: 'breakpoints',
      args: { breakpoints: [{ id: 'b', side: 'after', kind: 'tool', when: 'tool.repeats == 18' }] },
    });
    await using first = await TestWorker.start(store, server, batch);
    const { rollout } = await until(server, batch, (events) => events.some(({ kind }) => kind === 'hold'));
    await first.kill();
    await using second = await TestWorker.start(store, server, batch);
    await until(server, batch, (events) => of(events, 'hold').length === 2);
    await server.api.commandRollout(rollout, { command: newId('c'), verb: 'release', by: 'test' });
    assert.equal(await second.exited, 0, second.stderr);
    const { events } = await ended(server, batch);
    assertWhole(events);
    const last = of(events, 'rollout.lease').at(-1);
    assert.equal(last?.data.how, 'resumed');
    assert.notEqual(last.data.snapshot, undefined, 'restored from the snapshot of the 16th call');
    assert.equal(of(events, 'score')[0]?.data.passed, true);
    assert.equal(finalState(events), finalState(undisturbed));
    const cut = of(events, 'tool.end')[18]?.seq ?? 0;
    const forked = await server.api.fork({ batch: newId('b'), rollout, seq: cut, attempts: 1 });
    await using third = await TestWorker.start(store, server, forked.batch);
    assert.equal(await third.exited, 0, third.stderr);
    const [row] = (await server.api.rollouts(forked.batch)).rollouts;
    const child = await eventsOf(server, row?.rollout ?? '');
    assert.equal(finalState(child), finalState(undisturbed));
    assert.equal(of(child, 'score').at(-1)?.data.passed, true);
  });

  test(`${BRANCHES} forks in the middle each begin with exactly the rows of the cut`, async (t) => {
    await using store = new TestStore();
    const server = await store.start();
    const batch = await submitGardens(folder, server);
    const hold = (of: string, side: 'before' | 'after', kind: 'model' | 'tool', when: string): Promise<unknown> =>
      server.api.commandBatch(of, {
        command: newId('c'),
        verb: 'breakpoints',
        args: { breakpoints: [{ id: 'b', side, kind, when }] },
      });
    await hold(batch, 'after', 'tool', 'tool.repeats == 18');
    await using worker = await TestWorker.start(store, server, batch);
    const { rollout, events } = await until(server, batch, (all) => all.some(({ kind }) => kind === 'hold'));
    const [cut] = openDatabases(worker);
    assert.ok(cut !== undefined);
    assert.equal(cut['harvests']?.length, 20);
    const { seq } = of(events, 'tool.end')[18] ?? { seq: 0 };
    await server.api.commandRollout(rollout, { command: newId('c'), verb: 'release', by: 'test' });
    assert.equal(await worker.exited, 0, worker.stderr);
    const final = rowsOf(await savedDatabase(server, await eventsOf(server, rollout)));
    assert.notDeepEqual(final, cut);

    const forked = await server.api.fork({ batch: newId('b'), rollout, seq, attempts: BRANCHES });
    await hold(forked.batch, 'before', 'model', 'true');
    await using second = await TestWorker.start(store, server, forked.batch);
    for (let held = 0; held < BRANCHES; ) {
      assert.equal(second.process.exitCode, null, second.stderr);
      await until(server, forked.batch, (all) => all.some(({ kind }) => kind === 'hold'));
      held = (await server.api.rollouts(forked.batch)).rollouts.filter(({ state }) => state === 'held').length;
    }
    const begun = openDatabases(second);
    assert.deepEqual(
      begun,
      Array.from({ length: BRANCHES }, () => cut),
    );
    t.diagnostic(`${begun.length} branches begin with the ${countRows(cut)} rows of the cut`);
  });
});

/** Returns all rows of the databases of a worker's open sessions, read from their files. */
function openDatabases({ folder: work }: TestWorker): Rows[] {
  return globSync('**/sessions/*/world.db', { cwd: work }).map((file) => rowsOf(path.join(work, file)));
}
