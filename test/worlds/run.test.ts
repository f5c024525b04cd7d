/** A batch over a published code world, from its files to the verdict: undisturbed, killed midway, and forked. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readBatch } from '../../src/client/submitFile.ts';
import { newId } from '../../src/common/ids.ts';
import type { EventOf, TraceEvent } from '../../src/trace/schema.ts';
import { Bench } from '../support/cli.ts';
import { assertWhole, eventsOf, until } from '../support/directed.ts';
import { type TestServer, TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';
import { garden, writeGardens } from './support/gardenFolder.ts';
import { testPython } from './support/python.ts';

/** Harvests, then the task itself. A snapshot is taken after 16 calls that changed something. */
const QUESTION = [
  'call record_harvest {"planting_id": 1, "kilograms": 1} times 20',
  'call assign_plot {"plot_id": 3, "gardener_id": 3}',
  'call list_plots {"free": true}',
  'answer done',
].join('\n');

let folder: string;

before(async () => {
  const python = await testPython();
  folder = mkdtempSync(path.join(os.tmpdir(), 'world-run-'));
  for (const name of ['agents', 'batches', 'data', 'worlds']) await mkdir(path.join(folder, name));
  const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
  writeGardens(path.join(folder, 'worlds', 'published'), { garden: garden() });
  write(
    'worlds/garden.world.yaml',
    `version: 1\nname: garden\nkind: code\nformat: awm\nfrom: published\npython: ${JSON.stringify(python)}\n`,
  );
  write(
    'agents/gardener.agent.yaml',
    'version: 1\nname: gardener\nmodel: { endpoint: "demo:", name: demo }\nprompt: You help.\nlimits: { steps: 60 }\n',
  );
  write(
    'data/tasks.jsonl',
    `${JSON.stringify({ id: 'plot', question: QUESTION, world: { scenario: 'garden' }, task_idx: 0 })}\n`,
  );
  write(
    'batches/garden.batch.yaml',
    'version: 1\nagent: ../agents/gardener.agent.yaml\nworld: ../worlds/garden.world.yaml\n' +
      'dataset: { file: ../data/tasks.jsonl }\nscorer: { kind: world }\n',
  );
});

after(() => rmSync(folder, { recursive: true, force: true }));

/** Submits the batch file. */
async function submit(server: TestServer): Promise<string> {
  const env = { ...process.env, XDG_CACHE_HOME: path.join(folder, 'cache') };
  const { built, warnings } = await readBatch('batches/garden.batch.yaml', { cwd: folder }, env);
  assert.deepEqual(warnings, []);
  for await (const blob of built.blobs)
    await server.api.putBlob(blob.sha, 'bytes' in blob ? blob.bytes : readFileSync(blob.path));
  return server.submit(built.submission, await Array.fromAsync(built.tasks));
}

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
    const batch = await submit(server);
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
    const batch = await submit(server);
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
});
