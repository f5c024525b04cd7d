/** Adaptive attempts while a worker and the server are killed: each task gets exactly the attempts that it needs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Submission } from '../../src/config/submission.ts';
import { submission, task } from '../support/directed.ts';
import { BrokenJudge, BrokenModel } from '../support/groupFaults.ts';
import { type TestServer, TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';

const TASKS = Array.from({ length: 6 }, (_, n) =>
  task(`t${n}`, 'call calculate {"expression": "40 + 2"}\nanswer {{last}}', '42'),
);
const PATIENCE_MS = 120_000;

async function ended(server: () => TestServer, batch: string): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; ) {
    const row = await server()
      .api.batch(batch)
      .catch(() => undefined); // it is down
    if (row?.state === 'ended') return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail('the batch did not end');
}

/** Returns the attempts of each task, with their rewards, and how many attempts the batch counts. */
async function attemptsOf({ api }: TestServer, batch: string): Promise<unknown> {
  const rows = await Array.fromAsync(api.allRollouts(batch));
  const { counts } = await api.batch(batch);
  const attempts = rows.map(({ task: id, attempt, progress }) => `${id}/${attempt} ${String(progress.reward)}`).sort();
  return { attempts, passed: counts.passed, failed: counts.failed, queued: counts.queued, running: counts.running };
}

test('until: informative gives the same attempts although a worker and the server are killed', {
  timeout: 240_000,
}, async (t) => {
  await using store = new TestStore();
  await using model = await BrokenModel.start();
  await using judge = await BrokenJudge.start();
  let server = await store.start();
  const plain = submission({
    attempts: 8,
    adaptive: { least: 2, until: 'informative' },
    retry: { infrastructure: 3 },
  });
  const own: Submission = {
    ...plain,
    agent: { ...plain.agent, model: { ...plain.agent.model, endpoints: [model.url] } },
    scorer: {
      kind: 'judge',
      model: { ...plain.agent.model, endpoints: [judge.url], name: 'judge' },
      rubric: 'Is it right?',
      pass: 0.5,
    },
  };

  const calm = await server.submit(own, TASKS);
  {
    await using worker = await TestWorker.start(store, server, calm);
    assert.equal(await worker.exited, 0, worker.stderr);
  }
  await ended(() => server, calm);
  const expected = await attemptsOf(server, calm);
  const { attempts } = expected as { attempts: readonly string[] };
  assert.ok(attempts.length > TASKS.length * 2 && attempts.length < TASKS.length * 8, 'some tasks need more attempts');

  const batch = await server.submit(own, TASKS);
  // In the first wave, and after it, when further attempts have begun.
  let held = model.hold(9);
  await using victim = await TestWorker.start(store, server, batch);
  await held;
  await victim.kill();
  model.release();
  held = model.hold(TASKS.length * 4);
  await using worker = await TestWorker.start(store, server, batch);
  await held;
  await server.kill();
  model.release();
  server = await store.start();
  await ended(() => server, batch);
  assert.deepEqual(await attemptsOf(server, batch), expected);
  assert.equal(await worker.exited, 0, worker.stderr);
  t.diagnostic(`${attempts.length} attempts of ${TASKS.length} tasks, as in a run without a kill`);
});
