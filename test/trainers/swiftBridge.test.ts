/** The bridge to ms-swift, on a real server and worker: its scheduler runs as `swift rollout` calls it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';
import { bridgeEnvironment, openBatch, PATIENT } from './support/openBatch.ts';
import { runPython } from './support/python.ts';
import { sumQuestion, tokenEndpoint } from './support/tokenEndpoint.ts';

const found = z.array(
  z.object({
    task: z.string(),
    trained: z.number(),
    void: z.string().nullable(),
    reward: z.number(),
    advantage: z.number(),
  }),
);
const SIZE = 3;

describe('the bridge to ms-swift 4.6.0', { timeout: 600_000 }, () => {
  it('has one row for each request, and void rows that change no advantage of others', async () => {
    await using store = new TestStore();
    const server = await store.start(PATIENT);
    await using endpoint = await tokenEndpoint({ hanging: { question: sumQuestion(1, 1), from: 2 } });
    const dataset = [
      { id: 'short', question: sumQuestion(1, 1), answer: '2', meta: {} },
      { id: 'spaces', question: sumQuestion(3, 4, { spaces: true }), answer: '7', meta: {} },
    ];
    const batch = await openBatch(server, endpoint.url, dataset, { size: SIZE, min_usable: 2 });
    await using worker = await TestWorker.start(store, server, batch);
    const run = (tasks: readonly string[], env: Record<string, string>): Promise<z.infer<typeof found>> =>
      runPython(
        { trainer: 'swift', script: 'bridge_swift.py', args: [JSON.stringify(tasks), String(SIZE)], env },
        found,
      );
    const env = { ...bridgeEnvironment(server, batch), ROLLOUT_DEADLINE: '20' };
    // The server refuses an unknown task: its rows are void, and the others have theirs.
    const rows = await run([...dataset.map(({ id }) => id), 'unknown'], env);
    assert.equal(worker.process.exitCode, null);
    assert.equal(rows.length, 3 * SIZE);
    const of = (task: string): z.infer<typeof found> => rows.filter((row) => row.task === task);
    assert.ok(of('spaces').every(({ trained, void: why }) => trained > 0 && why === null));
    assert.ok(of('unknown').every(({ trained, advantage, void: why }) => trained === 0 && advantage === 0 && why));
    const [voids, others] = [of('short').filter((row) => row.void), of('short').filter((row) => !row.void)];
    assert.deepEqual([voids.length, others.length], [1, 2]);
    assert.deepEqual([voids[0]!.trained, voids[0]!.advantage], [0, 0]);
    assert.equal(voids[0]!.reward, (others[0]!.reward + others[1]!.reward) / 2);
  });
});
