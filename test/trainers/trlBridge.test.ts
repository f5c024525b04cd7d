/** GRPO steps of TRL through the bridge, with a real server and workers, while workers die and the engine is paused. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';
import { bridgeEnvironment, openBatch, PATIENT } from './support/openBatch.ts';
import { runPython } from './support/python.ts';
import { sumQuestion, tokenEndpoint } from './support/tokenEndpoint.ts';

const found = z.object({
  steps: z.number(),
  losses: z.array(z.number()),
  moved: z.number(),
  seen: z.array(z.object({ step: z.number(), rewards: z.array(z.number().nullable()), trained: z.array(z.number()) })),
  counts: z.record(z.string(), z.number()),
  advantages: z.array(z.number()),
});
const SIZE = 4;
const DEADLINE_SECONDS = 40;

describe('the bridge to TRL 1.16.0', { timeout: 600_000 }, () => {
  it('makes two steps, with void rows, a short group, a lost worker, and a paused engine', async () => {
    await using store = new TestStore();
    const server = await store.start(PATIENT);
    const begun = Promise.withResolvers<undefined>();
    const replaced = Promise.withResolvers<undefined>();
    // The first call is in flight until its worker is dead; two members of a group never get a reply.
    await using endpoint = await tokenEndpoint({
      hanging: { question: sumQuestion(1, 1), from: 2 },
      before: () => {
        begun.resolve(undefined);
        return replaced.promise;
      },
    });
    const dataset = [
      { id: 'short', question: sumQuestion(1, 1), answer: '2', meta: {} },
      { id: 'spaces', question: sumQuestion(2, 5, { spaces: true }), answer: '7', meta: {} },
      { id: 'sum', question: sumQuestion(18, 25), answer: '43', meta: {} },
      { id: 'other', question: sumQuestion(20, 25), answer: '45', meta: {} },
    ];
    const batch = await openBatch(server, endpoint.url, dataset, { size: SIZE, min_usable: 2 });
    const lost = await TestWorker.start(store, server, batch);
    const trained = runPython(
      {
        trainer: 'trl',
        script: 'bridge_trl.py',
        args: [JSON.stringify(dataset.map(({ id }) => id)), '2'],
        env: {
          ...bridgeEnvironment(server, batch),
          ROLLOUT_ENDPOINT: endpoint.url,
          ROLLOUT_DEADLINE: String(DEADLINE_SECONDS),
        },
      },
      found,
    );
    await Promise.race([begun.promise, trained]);
    await server.api.setEndpoint({ endpoint: endpoint.url, state: 'pausing' });
    await lost.kill();
    await using worker = await TestWorker.start(store, server, batch);
    replaced.resolve(undefined);
    await server.api.setEndpoint({ endpoint: endpoint.url, state: 'serving', version: 0, force: true });

    const { steps, losses, moved, seen, counts, advantages } = await trained;
    assert.equal(worker.process.exitCode, null);
    assert.deepEqual([steps, losses.length, seen.length], [2, 2, 2]);
    assert.ok(moved > 0, 'the policy has learned something');
    assert.deepEqual(counts, { short: 1, complete: 3, void: 2, 'segments left out': SIZE });
    const rows = seen.flatMap(({ rewards, trained: own }) =>
      rewards.map((reward, index) => ({ reward, own: own[index] })),
    );
    assert.equal(rows.length, dataset.length * SIZE);
    for (const { reward, own } of rows) assert.equal(own === 0, reward === null, 'only void rows train nothing');
    assert.equal(rows.filter(({ reward }) => reward === null).length, 2);
    assert.ok(advantages.every(Number.isFinite));
    // The statistics of no group have a member that was lost: its members are those that the server delivered.
    const groups = await server.api.finishedGroups(batch, {});
    assert.deepEqual(
      groups.map(({ state, members }) => [state, members.length]).sort(),
      [['short', 2], ...Array.from({ length: 3 }, () => ['complete', SIZE])].sort(),
    );
    const versions = groups.flatMap(({ rows: own }) => own.map((row) => (row as { weights?: string[] }).weights?.[1]));
    assert.ok(versions.includes('0') && versions.includes('1'), 'each step announced its weights');
    console.log(
      `TRL: ${steps} steps, losses ${losses.join(', ')}, ${JSON.stringify(counts)}, moved ${moved.toFixed(4)}`,
    );
  });
});
