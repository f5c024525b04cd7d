/** A world whose model is gone, or falls silent amid a reply, for longer than a tool may take. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../src/common/json.ts';
import type { Submission } from '../../src/config/submission.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { assertWhole, eventsOf, submission, task, until } from '../support/directed.ts';
import { answerText, callsOf, chunk, type FakeEndpoint, fakeEndpoint, sse } from '../support/endpoint.ts';
import { type TestServer, TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';
import { responses } from '../support/worldCalls.ts';

const TOOL_SECONDS = 0.5;
/** Several times longer. */
const OUTAGE_MS = 2_000;
const QUESTION = 'call find {"n": 1}\ncall find {"n": 2}\ncall find {"n": 3}\nanswer done';

function simulated(url: string, endpointWait: number): Submission {
  const plain = submission({ attempts: 1 });
  return {
    ...plain,
    agent: { ...plain.agent, tools: [], limits: { ...plain.agent.limits, tool_seconds: TOOL_SECONDS } },
    world: {
      name: 'desk',
      file: 'desk.world.yaml',
      kind: 'simulated',
      domain: 'mcp',
      model: { ...plain.agent.model, endpoints: [url], name: 'world-model', endpoint_wait_seconds: endpointWait },
      definitions: [{ name: 'find', description: 'Finds a book.', parameters: { type: 'object' } }],
      texts: {},
      perturb: [],
    },
  };
}

const turnOf = (body: JsonObject): number =>
  (body['messages'] as JsonObject[]).filter(({ role }) => role === 'user').length;

/** Plays the world, except for the requests that `instead` takes. */
function worldModel(
  instead: (turn: number, response: ServerResponse) => boolean = () => false,
  port = 0,
): Promise<FakeEndpoint> {
  return fakeEndpoint(({ path, body }, response) => {
    if (!path.endsWith('/chat/completions')) response.writeHead(404).end();
    else if (!instead(turnOf(body), response)) answerText(response, `answer ${turnOf(body)}`);
  }, port);
}

/** Returns the events of the only attempt, which passed in its first try, with all answers in order. */
async function assertUnharmed(server: TestServer, batch: string): Promise<readonly TraceEvent[]> {
  const [row, ...others] = (await server.api.rollouts(batch)).rollouts;
  assert.ok(row !== undefined && others.length === 0);
  assert.deepEqual([row.progress.status, row.progress.passed, row.try], ['done', true, 1]);
  const events = await eventsOf(server, row.rollout);
  assertWhole(events);
  assert.deepEqual(responses(events), ['answer 1', 'answer 2', 'answer 3']);
  const ends = events.flatMap((event) => (event.kind === 'tool.end' ? [event.data] : []));
  assert.deepEqual(
    ends.map(({ status, source }) => [status, source]),
    [1, 2, 3].map(() => ['ok', 'simulated']),
  );
  assert.equal(row.progress.side?.calls, 3);
  return events;
}

/** The tries of the world's second call that failed. */
function retriesOf(events: readonly TraceEvent[]): string[] {
  const sides = events.flatMap((event) => (event.kind === 'model.end' && event.agent === 'world' ? [event] : []));
  assert.deepEqual(
    sides.map(({ data }) => data.status),
    ['ok', 'ok', 'ok'],
  );
  const [, second] = sides;
  const start = events.find(({ seq }) => seq === second?.span);
  assert.ok(second !== undefined && start !== undefined);
  assert.ok(second.at - start.at > TOOL_SECONDS * 1000, 'the call took longer than a tool may');
  return (second.data.retries ?? []).map((retry) => retry.class);
}

const isAsked = (nth: number) => (events: readonly TraceEvent[]) =>
  events.filter((event) => event.kind === 'model.start' && event.data.side === 'world').length === nth;

describe('a world whose endpoint', { timeout: 480_000 }, () => {
  it('is gone for a while is waited for: no tool times out, and nothing is lost or asked twice', async () => {
    await using store = new TestStore();
    const server = await store.start();
    // The endpoint dies when it is asked for the second time.
    const died = Promise.withResolvers<undefined>();
    const first = await worldModel((turn, response) => {
      if (turn === 2) {
        response.socket?.destroy();
        died.resolve(undefined);
      }
      return turn === 2;
    });
    const batch = await server.submit(simulated(first.url, 600), [task('t', QUESTION, 'done')]);
    await using worker = await TestWorker.start(store, server, batch);
    await Promise.race([died.promise, worker.exited]);
    await first[Symbol.asyncDispose]();
    await until(server, batch, isAsked(2));
    await sleep(OUTAGE_MS);
    await using back = await worldModel(undefined, first.port);
    assert.equal(await worker.exited, 0, worker.stderr);

    const retries = retriesOf(await assertUnharmed(server, batch));
    assert.ok(retries.length > 0 && retries.every((one) => one !== 'timeout'), retries.join());
    assert.deepEqual([callsOf(first), callsOf(back)], [2, 2]);
  });

  it('falls silent amid a reply, and then breaks off, is asked again', async () => {
    await using store = new TestStore();
    const server = await store.start();
    let silent: ServerResponse | undefined;
    const began = Promise.withResolvers<undefined>();
    await using model = await worldModel((turn, response) => {
      if (turn !== 2 || silent !== undefined) return false;
      silent = response;
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      response.write(sse([chunk({ delta: { role: 'assistant', content: 'ans' } })], false));
      began.resolve(undefined);
      return true;
    });
    const batch = await server.submit(simulated(model.url, 600), [task('t', QUESTION, 'done')]);
    await using worker = await TestWorker.start(store, server, batch);
    await Promise.race([began.promise, worker.exited]);
    await sleep(OUTAGE_MS);
    silent?.socket?.destroy();
    assert.equal(await worker.exited, 0, worker.stderr);

    assert.equal(retriesOf(await assertUnharmed(server, batch)).length, 1);
    assert.equal(callsOf(model), 4, 'only the broken reply is asked for again');
  });

  it('stays away is no fault of the agent: the attempt is lost to infrastructure, with all before it', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const died = Promise.withResolvers<undefined>();
    const model = await worldModel((turn, response) => {
      if (turn === 2) {
        response.socket?.destroy();
        died.resolve(undefined);
      }
      return turn === 2;
    });
    const plain = simulated(model.url, 1);
    const batch = await server.submit({ ...plain, retry: { ...plain.retry, infrastructure: 0 } }, [
      task('t', QUESTION, 'done'),
    ]);
    await using worker = await TestWorker.start(store, server, batch);
    await Promise.race([died.promise, worker.exited]);
    await model[Symbol.asyncDispose]();
    assert.equal(await worker.exited, 0, worker.stderr);

    const [row] = (await server.api.rollouts(batch)).rollouts;
    assert.deepEqual([row?.progress.status, row?.progress.error_class], ['infrastructure', 'infrastructure']);
    assert.match(row?.progress.error_message ?? '', /The model endpoint .* did not respond for 1 s\./);
    const events = await eventsOf(server, row!.rollout);
    assertWhole(events);
    assert.deepEqual(responses(events).slice(0, 1), ['answer 1']);
  });
});
