/** The bridge to verl, on a real server and worker: its agent loop runs as verl calls it, without a GPU. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';
import { bridgeEnvironment, openBatch, PATIENT } from './support/openBatch.ts';
import { runPython } from './support/python.ts';
import { sumQuestion, tokenEndpoint } from './support/tokenEndpoint.ts';

const output = z.object({
  reward: z.number(),
  trained: z.number(),
  ids: z.number(),
  void: z.string().nullable(),
});
const found = z.array(z.object({ task: z.string(), outputs: z.array(output) }));
const SIZE = 3;

describe('the bridge to verl 0.9.1', { timeout: 600_000 }, () => {
  it('gives each session its member, several segments, and a void row without one', async () => {
    await using store = new TestStore();
    const server = await store.start(PATIENT);
    await using endpoint = await tokenEndpoint({ hanging: { question: sumQuestion(1, 1), from: 2 } });
    const dataset = [
      { id: 'short', question: sumQuestion(1, 1), answer: '2', meta: {} },
      { id: 'spaces', question: sumQuestion(3, 4, { spaces: true }), answer: '7', meta: {} },
    ];
    const batch = await openBatch(server, endpoint.url, dataset, { size: SIZE, min_usable: 2 });
    await using worker = await TestWorker.start(store, server, batch);
    const sessions = await runPython(
      {
        trainer: 'verl',
        script: 'bridge_verl.py',
        args: [JSON.stringify(dataset.map(({ id }) => id)), String(SIZE)],
        env: { ...bridgeEnvironment(server, batch), ROLLOUT_DEADLINE: '20' },
      },
      found,
    );
    assert.equal(worker.process.exitCode, null);
    assert.equal(sessions.length, dataset.length * SIZE);
    const of = (task: string): z.infer<typeof output>[][] =>
      sessions.filter((one) => one.task === task).map(({ outputs }) => outputs);
    for (const outputs of of('spaces')) {
      assert.equal(outputs.length, 2, 'two segments');
      assert.equal(new Set(outputs.map(({ reward }) => reward)).size, 1);
      assert.ok(outputs.every(({ trained, void: why }) => trained > 0 && why === null));
    }
    const [voids, others] = [
      of('short').filter(([one]) => one?.void !== null),
      of('short').filter(([one]) => one?.void === null),
    ];
    assert.deepEqual([voids.length, others.length], [1, 2]);
    const rewards = others.map(([one]) => one?.reward ?? NaN);
    assert.deepEqual(
      voids.flat().map(({ reward, trained, ids }) => [reward, trained, ids]),
      [[(rewards[0]! + rewards[1]!) / 2, 0, 1]],
    );
  });
});
