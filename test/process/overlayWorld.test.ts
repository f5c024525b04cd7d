/** The sample's tasks in the library itself, in its simulation, and as an overlay; figures are counted twice. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { Bench } from '../support/cli.ts';

const ATTEMPTS = 4;
const TASKS = 10;

const event = z.looseObject({
  kind: z.string(),
  seq: z.number(),
  span: z.number().optional(),
  data: z.looseObject({}),
});

interface Recount {
  /** Passed attempts of each task, from the events of the trajectories. */
  readonly passed: ReadonlyMap<string, number>;
  /** Tool calls with a result, by source. */
  readonly sources: Readonly<Record<string, number>>;
  readonly sideCalls: number;
  /** Rows of the real world that calls reported as changed. */
  readonly changes: number;
  /** Overlays whose real result differs from what the agent saw. */
  readonly changed: number;
}

describe('the tasks of the sample in the library, in its simulation, and as an overlay', { timeout: 400_000 }, () => {
  it('have pass rates that the events confirm, and an overlay writes nothing to the library', async () => {
    const bench = new Bench();
    try {
      await bench.run(['init', 'desk'], { cwd: bench.folder });
      const cwd = bench.path('desk');
      const run = async (name: string): Promise<string> => {
        const args = ['run', `batches/${name}.batch.yaml`, '--attempts', String(ATTEMPTS)];
        return (await bench.json<{ batch: string }>(args, { cwd })).batch;
      };
      const batches = { real: await run('real'), simulated: await run('simulated'), overlay: await run('overlay') };
      const counted: Record<string, Recount> = {};
      for (const [name, batch] of Object.entries(batches)) {
        const report = await bench.json<{
          attempts: number;
          scored: number;
          passed: number;
          pass_at: Record<string, number>;
          side?: { calls: number };
        }>(['report', batch], { cwd });
        const own = await recount(bench, cwd, batch);
        counted[name] = own;
        const passes = [...own.passed.values()].reduce((sum, count) => sum + count, 0);
        assert.deepEqual([report.attempts, report.scored], [TASKS * ATTEMPTS, TASKS * ATTEMPTS], name);
        assert.equal(report.passed, passes, name);
        assert.ok(Math.abs((report.pass_at['1'] ?? 0) - passes / (TASKS * ATTEMPTS)) < 1e-9, name);
        assert.equal(report.side?.calls ?? 0, own.sideCalls, name);
      }
      const { real, simulated, overlay } = counted as Record<keyof typeof batches, Recount>;
      assert.deepEqual(Object.keys(real.sources), ['live']);
      assert.ok(real.changes > 0);
      assert.deepEqual(Object.keys(simulated.sources).toSorted(), ['simulated']);
      // The desk reads before it writes, so all reads are the real answer. Writes never reach the library.
      assert.deepEqual(Object.keys(overlay.sources).toSorted(), ['live', 'simulated']);
      assert.equal(overlay.changes, 0);
      assert.equal(overlay.sideCalls, overlay.sources['simulated']);

      for (const name of ['simulated', 'overlay'] as const) {
        const { comparison } = await bench.json<{
          comparison: { tasks: number; pass_at: Record<string, { difference: number }>; pairs: { attempts: number } };
        }>(['compare', batches.real, batches[name]], { cwd });
        const differences = [...counted[name]!.passed].map(
          ([task, count]) => (count - (real.passed.get(task) ?? 0)) / ATTEMPTS,
        );
        const mean = differences.reduce((sum, each) => sum + each, 0) / TASKS;
        assert.deepEqual([comparison.tasks, comparison.pairs.attempts], [TASKS, TASKS * ATTEMPTS]);
        assert.ok(Math.abs((comparison.pass_at['1']?.difference ?? 1) - mean) < 1e-9, `${name}: ${mean}`);
      }

      const question =
        'call renew_loan {"loan_id": "L-3001"}\ncall list_loans {"member_id": "M-1001"}\nanswer {{last}}';
      const task = { id: 'renew-and-look', question, answer: '2026-04-03', world: { seed: 1 } };
      writeFileSync(path.join(cwd, 'data', 'tasks.jsonl'), `${JSON.stringify(task)}\n`);
      const file = path.join(cwd, 'batches', 'overlay.batch.yaml');
      writeFileSync(file, readFileSync(file, 'utf8').replace('offset: 2', 'offset: 0'));
      const read = await recount(bench, cwd, await run('overlay'));
      assert.deepEqual([...read.passed], [['renew-and-look', ATTEMPTS]]);
      assert.deepEqual(read.sources, { simulated: ATTEMPTS, overlay: ATTEMPTS });
      assert.deepEqual([read.changed, read.changes, read.sideCalls], [ATTEMPTS, 0, 2 * ATTEMPTS]);
    } finally {
      await bench.close();
    }
  });
});

/** Counts by another route than reports: in the events of each attempt. */
async function recount(bench: Bench, cwd: string, batch: string): Promise<Recount> {
  const passed = new Map<string, number>();
  const sources: Record<string, number> = {};
  let sideCalls = 0;
  let changes = 0;
  let changed = 0;
  const { rollouts } = await bench.json<{ rollouts: { task: string; attempt: number }[] }>(['show', batch], { cwd });
  for (const { task, attempt } of rollouts) {
    const { stdout } = await bench.run(['tail', `${batch}/${task}/${attempt}`, '--json'], { cwd });
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => event.parse(JSON.parse(line)));
    const end = events.find(({ kind }) => kind === 'rollout.end');
    passed.set(task, (passed.get(task) ?? 0) + (end?.data['passed'] === true ? 1 : 0));
    for (const { kind, data } of events) {
      if (kind === 'model.start' && data['side'] !== undefined) sideCalls++;
      if (kind === 'world.diff') changes += (data['changes'] as unknown[]).length;
      if (kind !== 'tool.end' || data['error'] !== undefined) continue; // a refused call reached nobody
      const source = String(data['source']);
      sources[source] = (sources[source] ?? 0) + 1;
      const message = events.find((other) => other.kind === 'message' && other.data['m'] === data['m']);
      if (data['real'] !== undefined && !JSON.stringify(message).includes(JSON.stringify(data['real']))) changed++;
    }
  }
  return { passed, sources, sideCalls, changes, changed };
}
