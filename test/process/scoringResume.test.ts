/** A worker that is lost while its scorer runs: another one replays the record, asks for the answer, and scores. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertWhole, eventsOf, submission, task } from '../support/directed.ts';
import { answerText, fakeEndpoint } from '../support/endpoint.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';

test('a rollout whose worker is lost during scoring is scored by the next one', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const asked = Promise.withResolvers<undefined>();
  await using judge = await fakeEndpoint(({ path }, response, nth) => {
    if (!path.endsWith('/chat/completions')) {
      response.writeHead(404).end();
      return;
    }
    asked.resolve(undefined);
    // The first worker waits for its verdict until it ends.
    if (lost) answerText(response, JSON.stringify({ score: 1, explanation: `call ${nth}` }));
  });
  let lost = false;
  const plain = submission({ attempts: 1 });
  const model = { ...plain.agent.model, endpoints: [judge.url], name: 'judge' };
  const scorer = { kind: 'judge', model, rubric: 'Is it right?', pass: 0.5 } as const;
  const question = 'call calculate {"expression": "40 + 2"}\nanswer 42';
  const batch = await server.submit({ ...plain, scorer }, [task('a', question, 'forty-two')]);
  await using first = await TestWorker.start(store, server, batch);
  await asked.promise;
  lost = true;
  await first.kill('SIGTERM');
  await using second = await TestWorker.start(store, server, batch);
  assert.equal(await second.exited, 0, second.stderr);
  const [row] = (await server.api.rollouts(batch)).rollouts;
  const events = await eventsOf(server, row!.rollout);
  assertWhole(events);
  const count = (kind: string): number => events.filter((event) => event.kind === kind).length;
  // Nothing of the agent happened again.
  assert.deepEqual(
    [count('rollout.lease'), row!.progress.steps, count('tool.start'), count('score'), row!.try],
    [2, 2, 1, 1, 1],
  );
  // The judge was asked again, because its answer was lost with the worker.
  assert.deepEqual([count('model.start'), row!.progress.side?.calls], [4, 1]);
  assert.equal(row!.progress.passed, true);
  assert.match(
    JSON.stringify(judge.seen.findLast(({ path }) => path.endsWith('/chat/completions'))?.body),
    /forty-two/,
    'the judge knows the expected answer',
  );
  assert.ok(
    !(await server.api.events(batch)).events.some(({ kind, data }) => kind === 'infra' && data.what === 'tampering'),
  );
});
