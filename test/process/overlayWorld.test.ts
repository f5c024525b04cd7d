/** The sample's tasks in the library itself, in its simulation, and as an overlay; figures are counted twice. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { Comparison, Report } from '../../src/trace/statistics/schema.ts';
import { Bench } from '../support/cli.ts';
import { assertComparison, assertReport, callsOf } from '../support/recount.ts';
import { type StoredAttempt, storedAttempts } from '../support/storedAttempts.ts';

const ATTEMPTS = 4;
const TASKS = 10;

/** What answered the calls of some attempts, from the events in the store. */
interface Answers {
  /** Tool calls with a result, by source. */
  readonly sources: Readonly<Record<string, number>>;
  readonly sideCalls: number;
  /** Rows of the real world that calls reported as changed. */
  readonly changes: number;
  /** Overlays whose real result differs from what the agent saw. */
  readonly changed: number;
}

describe('the tasks of the sample in the library, in its simulation, and as an overlay', { timeout: 480_000 }, () => {
  it('have reports and paired pass rates that the store confirms, and an overlay writes nothing', async () => {
    const bench = new Bench();
    try {
      await bench.run(['init', 'desk'], { cwd: bench.folder });
      const cwd = bench.path('desk');
      const run = async (name: string): Promise<string> => {
        const args = ['run', `batches/${name}.batch.yaml`, '--attempts', String(ATTEMPTS)];
        return (await bench.json<{ batch: string }>(args, { cwd })).batch;
      };
      const batches = { real: await run('real'), simulated: await run('simulated'), overlay: await run('overlay') };
      const stored = new Map(Object.values(batches).map((batch) => [batch, storedAttempts(bench.store, batch)]));
      const attemptsOf = (batch: string): readonly StoredAttempt[] => stored.get(batch) ?? [];
      for (const batch of Object.values(batches)) {
        assert.equal(attemptsOf(batch).length, TASKS * ATTEMPTS);
        assertReport(await bench.json<Report>(['report', batch], { cwd }), attemptsOf(batch));
      }
      const pairs = [
        [batches.real, batches.simulated],
        [batches.real, batches.overlay],
        [batches.simulated, batches.overlay],
      ] as const;
      for (const [before, after] of pairs) {
        const { comparison } = await bench.json<{ comparison: Comparison }>(['compare', before, after], { cwd });
        assertComparison(comparison, attemptsOf(after), attemptsOf(before));
        const { baseline } = await bench.json<{ baseline: Comparison }>(['report', after, '--baseline', before], {
          cwd,
        });
        assert.deepEqual(baseline, comparison);
      }

      const [real, simulated, overlay] = [batches.real, batches.simulated, batches.overlay].map((batch) =>
        answersIn(attemptsOf(batch)),
      ) as [Answers, Answers, Answers];
      assert.deepEqual(Object.keys(real.sources), ['live']);
      assert.ok(real.changes > 0);
      assert.deepEqual(Object.keys(simulated.sources).toSorted(), ['simulated']);
      // The desk reads before it writes, so all reads are the real answer. Writes never reach the library.
      assert.deepEqual(Object.keys(overlay.sources).toSorted(), ['live', 'simulated']);
      assert.equal(overlay.changes, 0);
      assert.equal(overlay.sideCalls, overlay.sources['simulated']);

      const question =
        'call renew_loan {"loan_id": "L-3001"}\ncall list_loans {"member_id": "M-1001"}\nanswer {{last}}';
      const task = { id: 'renew-and-look', question, answer: '2026-04-03', world: { seed: 1 } };
      writeFileSync(path.join(cwd, 'data', 'tasks.jsonl'), `${JSON.stringify(task)}\n`);
      const file = path.join(cwd, 'batches', 'overlay.batch.yaml');
      writeFileSync(file, readFileSync(file, 'utf8').replace('offset: 2', 'offset: 0'));
      const looked = storedAttempts(bench.store, await run('overlay'));
      assert.deepEqual(
        looked.map(({ passed }) => passed),
        Array<boolean>(ATTEMPTS).fill(true),
      );
      const read = answersIn(looked);
      assert.deepEqual(read.sources, { simulated: ATTEMPTS, overlay: ATTEMPTS });
      assert.deepEqual([read.changed, read.changes, read.sideCalls], [ATTEMPTS, 0, 2 * ATTEMPTS]);
    } finally {
      await bench.close();
    }
  });
});

function answersIn(attempts: readonly StoredAttempt[]): Answers {
  const sources: Record<string, number> = {};
  let [sideCalls, changes, changed] = [0, 0, 0];
  for (const attempt of attempts) {
    for (const { kind, data } of attempt.events) {
      if (kind === 'model.start' && data.side !== undefined) sideCalls++;
      if (kind === 'world.diff') changes += data.changes?.length ?? 0;
    }
    for (const { end } of callsOf(attempt)) {
      if (end.error !== undefined) continue; // a refused call reached nobody
      const source = String(end.source);
      sources[source] = (sources[source] ?? 0) + 1;
      const message = attempt.events.find(({ kind, data }) => kind === 'message' && data.m === end.m);
      if (end.real !== undefined && !JSON.stringify(message).includes(JSON.stringify(end.real))) changed++;
    }
  }
  return { sources, sideCalls, changes, changed };
}
