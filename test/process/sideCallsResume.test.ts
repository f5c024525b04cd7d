/** A worker that is killed in calls of side models: the next one sends none of the recorded ones again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from '../../src/common/ids.ts';
import type { JsonObject } from '../../src/common/json.ts';
import { canonicalJson } from '../../src/common/json.ts';
import { assertWhole, eventsOf, submission, task, until } from '../support/directed.ts';
import { answerText, chatEndpoint, type FakeEndpoint, fakeEndpoint } from '../support/endpoint.ts';
import { blobOf, TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';

/** Bodies of the model calls that an endpoint received. */
function bodies({ seen }: FakeEndpoint): JsonObject[] {
  return seen.filter(({ path }) => path.endsWith('/chat/completions')).map(({ body }) => body);
}

/** How often each request was sent, in the order of the first ones. */
function counts(requests: readonly JsonObject[]): number[] {
  return [...Map.groupBy(requests, (body) => canonicalJson(body)).values()].map(({ length }) => length);
}

// Both wait until the lease of the killed worker ends.
describe('after a SIGKILL of the worker, calls', { timeout: 480_000, concurrency: 2 }, () => {
  it('of a judge are not made again once the answer is recorded', async () => {
    await using store = new TestStore();
    const server = await store.start();
    await using judge = await fakeEndpoint(({ path }, response) => {
      if (path.endsWith('/chat/completions')) answerText(response, JSON.stringify({ score: 1, explanation: 'fine' }));
      else response.writeHead(404).end();
    });
    const plain = submission({ attempts: 1 });
    const model = { ...plain.agent.model, endpoints: [judge.url], name: 'judge' };
    const scorer = { kind: 'judge', model, rubric: 'Is it right?', pass: 0.5 } as const;
    const question = 'call calculate {"expression": "40 + 2"}\nanswer 42';
    const batch = await server.submit({ ...plain, scorer }, [task('a', question, 'forty-two')]);
    await server.api.commandBatch(batch, {
      command: newId('c'),
      verb: 'breakpoints',
      args: { breakpoints: [{ id: 'b', side: 'after', kind: 'model', when: 'side == "judge"' }] },
    });
    await using first = await TestWorker.start(store, server, batch);
    const { rollout } = await until(server, batch, (events) => events.some(({ kind }) => kind === 'hold'));
    await first.kill();
    await using second = await TestWorker.start(store, server, batch);
    await until(server, batch, (events) => events.filter(({ kind }) => kind === 'hold').length === 2);
    await server.api.commandRollout(rollout, { command: newId('c'), verb: 'release', by: 'test' });
    assert.equal(await second.exited, 0, second.stderr);
    const events = await eventsOf(server, rollout);
    assertWhole(events);
    assert.deepEqual(counts(bodies(judge)), [1]);
    const { row } = await server.api.rollout(rollout);
    assert.deepEqual([row.progress.passed, row.progress.steps, row.progress.side?.calls], [true, 2, 1]);
    assert.ok(
      !(await server.api.events(batch)).events.some(({ kind, data }) => kind === 'infra' && data.what === 'tampering'),
    );
  });

  it('of a simulated user: only the one that was open is sent again', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const asked = Promise.withResolvers<undefined>();
    let lost = false;
    await using user = await chatEndpoint(({ body }, response) => {
      const isFirst = (body['messages'] as unknown[]).length === 2;
      if (isFirst) answerText(response, 'Ada.');
      else if (lost) answerText(response, '###STOP###');
      else asked.resolve(undefined); // the first worker waits for it until it is killed
    });
    const [bundle, map] = [
      blobOf('export const open = () => ({ tools: {} });'),
      blobOf('{"version":3,"sources":[],"names":[],"mappings":""}'),
    ];
    for (const { sha, bytes } of [bundle, map]) await server.api.putBlob(sha, bytes);
    const plain = submission({ attempts: 1 });
    const model = { ...plain.agent.model, endpoints: [user.url], name: 'user-model' };
    const world = {
      name: 'empty',
      file: 'empty.world.yaml',
      kind: 'module',
      module: { file: 'empty.ts', bundle: bundle.sha, map: map.sha },
      perturb: [],
      user: { model, prompt: 'You are Ada.' },
    } as const;
    const batch = await server.submit({ ...plain, world: { ...world, perturb: [] } }, [
      task('a', 'answer Who are you?', 'Who are you?'),
    ]);
    await using first = await TestWorker.start(store, server, batch);
    await asked.promise;
    // Its events are stored up to the open call.
    await until(
      server,
      batch,
      (events) => events.filter(({ kind, agent }) => kind === 'model.start' && agent === 'user').length === 2,
    );
    await first.kill();
    lost = true;
    await using second = await TestWorker.start(store, server, batch);
    assert.equal(await second.exited, 0, second.stderr);
    const [row] = (await server.api.rollouts(batch)).rollouts;
    const events = await eventsOf(server, row!.rollout);
    assertWhole(events);
    assert.deepEqual(counts(bodies(user)), [1, 2]);
    assert.deepEqual([row!.progress.steps, row!.progress.side?.calls, row!.try], [2, 2, 1]);
  });
});
