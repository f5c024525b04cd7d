/**
 * A real vLLM whose weights a trainer changes: the server itself pauses it during generation, tells it the new version,
 * and resumes it. The weights stay what they are: only their version changes.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DeskBench } from './deskBench.ts';
import type { Engine } from './engine.ts';
import { deskTasks } from './tasks.ts';

const PATIENCE_MS = 240_000;

/**
 * Describes them on a running engine, which costs most of a minute of processor time to start. It keeps the last
 * version.
 */
export function describeNewWeights(running: () => Engine): void {
  describe('new weights', () => {
    let engine: Engine;
    let bench: DeskBench;
    const tasks = deskTasks(8, 5);
    before(() => {
      engine = running();
      bench = new DeskBench(engine.url, tasks, { control: 'vllm' });
    });
    after(() => bench.close());

    it('are stamped on each call, and known to the engine', async () => {
      // More attempts than any machine runs meanwhile: it is canceled once all versions were seen.
      const batch = await bench.launch({ attempts: 200, concurrency: 8, tasks: tasks.map(({ id }) => id) });
      const { api } = await bench.connection();
      await bench.waitForEndpoint(({ running = 0 }) => running > 0, PATIENCE_MS);
      await api.setEndpoint({ endpoint: engine.url, state: 'serving', version: 1 });
      assert.equal(await engine.weights(), '1');
      for (const [mode, version] of [
        ['wait', 2],
        ['abort', 3],
      ] as const) {
        const paused = await api.setEndpoint({ endpoint: engine.url, state: 'paused', mode });
        assert.deepEqual([paused.state, paused.calls, await engine.isPaused()], ['paused', 0, true]);
        assert.equal(await engine.metric('vllm:num_requests_running'), 0);
        await api.setEndpoint({ endpoint: engine.url, state: 'serving', version });
        assert.deepEqual([await engine.weights(), await engine.isPaused()], [String(version), false]);
        await bench.waitForWeights(batch, String(version), PATIENCE_MS);
      }
      await bench.cancel(batch);
      await bench.follow(batch, () => undefined, AbortSignal.timeout(PATIENCE_MS));

      const calls = (await bench.trajectories(batch, 'settled')).flatMap((trajectory) => trajectory.calls);
      assert.deepEqual(
        calls
          .filter(({ end }) => end.data.status !== 'ok' || end.data.retries !== undefined)
          .map(({ end }) => end.data),
        [],
      );
      const versions = new Set(calls.map(({ end }) => end.data.weights));
      for (const version of ['1', '2', '3']) assert.ok(versions.has(version), [...versions].join(', '));
      for (const { start, end } of calls) {
        const from = end.data.weights_from ?? start.data.weights;
        // A pause lies between two versions, so no call crosses them. The first version came without a pause.
        if (end.data.weights !== '1') assert.equal(from, end.data.weights);
      }
      const waited = calls.filter(({ end }) => (end.data.paused_ms ?? 0) > 0);
      assert.ok(waited.length > 0);
      console.log(
        `${calls.length} calls, ${waited.length} waited for a pause, ` +
          `${calls.filter(({ end }) => end.data.aborted !== undefined).length} were aborted and made again`,
      );
    });
  });
}
