/**
 * Trainers pause model endpoints and announce new weights: a real server and real workers, whose calls the test answers
 * one by one.
 */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import type { EventOf } from '../../src/trace/schema.ts';
import { Bench } from '../support/cli.ts';
import { answerText, chatEndpoint, type FakeEndpoint, fakeEndpoint } from '../support/endpoint.ts';
import { plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';
import { until } from '../support/until.ts';
import { TestWorker } from '../support/workerProcess.ts';

const RUNNING = 16;

/** A chat model that answers when the test says so. */
class HeldModel implements AsyncDisposable {
  readonly #endpoint: FakeEndpoint;
  /** Requests that are not answered yet. */
  readonly open = new Set<ServerResponse>();
  /** Number of requests that the client closed before the answer. */
  closed = 0;
  received = 0;
  /** Whether requests are answered at once. */
  answers = false;

  private constructor(endpoint: FakeEndpoint) {
    this.#endpoint = endpoint;
  }

  static async start(): Promise<HeldModel> {
    const model: HeldModel = new HeldModel(
      await chatEndpoint((_, response) => {
        model.received++;
        if (model.answers) {
          answerText(response, 'yes');
          return;
        }
        model.open.add(response);
        response.once('close', () => {
          if (!model.open.delete(response)) return;
          model.closed++;
        });
      }),
    );
    return model;
  }

  get url(): string {
    return this.#endpoint.url;
  }

  /** Answers some of the open requests. */
  answer(count = Infinity): void {
    for (const response of [...this.open].slice(0, count)) {
      this.open.delete(response);
      answerText(response, 'yes');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endpoint[Symbol.asyncDispose]();
  }
}

function submissionFor(endpoints: readonly string[], changes: Parameters<typeof plainSubmission>[0] = {}) {
  const plain = plainSubmission({ attempts: 1, concurrency: 64, ...changes });
  return { ...plain, agent: { ...plain.agent, model: { ...plain.agent.model, endpoints: [...endpoints] } } };
}

type Ends = { readonly start: EventOf<'model.start'>; readonly end: EventOf<'model.end'> }[];

async function modelCalls(server: TestServer, batch: string): Promise<Ends> {
  const calls: Ends = [];
  for await (const row of server.api.allRollouts(batch)) {
    const { events } = await server.api.events(row.rollout);
    for (const end of events) {
      if (end.kind !== 'model.end') continue;
      const start = events.find((event) => event.seq === end.span);
      if (start?.kind === 'model.start') calls.push({ start, end });
    }
  }
  return calls;
}

/** Counts the model calls that have begun. */
async function begun(server: TestServer, batch: string): Promise<number> {
  const rows = await Array.fromAsync(server.api.allRollouts(batch));
  const pages = await Promise.all(rows.map(({ rollout }) => server.api.events(rollout)));
  return pages.flatMap(({ events }) => events).filter(({ kind }) => kind === 'model.start').length;
}

async function stateOf(server: TestServer, endpoint: string): Promise<string | undefined> {
  return (await server.api.endpoints()).find((one) => one.endpoint === endpoint && one.replica === undefined)?.state;
}

const passed = (server: TestServer, batch: string, count: number) => async (): Promise<boolean> =>
  (await server.api.batch(batch)).counts.passed === count;

const allYes = (count: number) => tasks(count).map((task) => ({ ...task, answer: 'yes' }));

test('a pause waits for 16 running calls, and new weights are stamped', async () => {
  await using store = new TestStore();
  await using model = await HeldModel.start();
  const server = await store.start();
  const batch = await server.submit(submissionFor([model.url]), allYes(RUNNING * 2));
  await using first = await TestWorker.start(store, server, batch, { slots: RUNNING / 2 });
  await using second = await TestWorker.start(store, server, batch, { slots: RUNNING / 2 });
  await server.api.setEndpoint({ endpoint: `${model.url}/`, state: 'serving', version: 1 });
  await until('the calls run', () => model.open.size === RUNNING);

  const pause = server.api.setEndpoint({ endpoint: model.url, state: 'paused', version: 1, by: 'the trainer' });
  let answered = false;
  void pause.then(() => (answered = true));
  await until('it pauses', async () => (await stateOf(server, model.url)) === 'pausing');
  model.answer(RUNNING - 1);
  // The freed slots are used again, but their calls wait.
  await until('others wait', async () => (await server.api.batch(batch)).counts.passed === RUNNING - 1);
  assert.deepEqual([answered, model.open.size, model.received], [false, 1, RUNNING], 'the longest call still runs');
  model.answer();
  const paused = await pause;
  assert.deepEqual([paused.state, paused.calls, paused.by], ['paused', 0, 'the trainer']);
  await until('all wait', async () => (await server.api.batch(batch)).counts.running === RUNNING);
  assert.equal(model.received, RUNNING, 'nothing started during the pause');
  const info = (await server.api.server()).endpoints.find(({ endpoint }) => endpoint === model.url);
  assert.equal(info?.pause?.by, 'the trainer');

  model.answers = true;
  const serving = await server.api.setEndpoint({ endpoint: model.url, state: 'serving', version: 2 });
  assert.deepEqual([serving.state, serving.version], ['serving', 2]);
  await until('the batch ends', passed(server, batch, RUNNING * 2));
  const calls = await modelCalls(server, batch);
  const before = calls.filter(({ end }) => end.data.weights === '1');
  assert.equal(before.length, RUNNING);
  for (const { start, end } of before) {
    assert.equal(start.data.weights ?? end.data.weights_from, '1');
    assert.equal(end.data.paused_ms, undefined);
  }
  const after = calls.filter(({ end }) => end.data.weights === '2');
  assert.equal(after.length, RUNNING);
  for (const { start, end } of after) {
    // The call waited in its span, and was sent to the new weights.
    if (start.data.weights !== '2') assert.equal(end.data.weights_from, '2');
    assert.ok(start.data.weights === '2' || (end.data.paused_ms ?? 0) > 0);
    assert.deepEqual([end.data.aborted, end.data.retries], [undefined, undefined]);
  }
  await Promise.all([first.exited, second.exited]);
});

test('a pause aborts running calls, which are made again after it, in the same span', async () => {
  await using store = new TestStore();
  await using model = await HeldModel.start();
  const server = await store.start();
  const limits = { steps: 1, seconds: 900, tool_seconds: 120, tokens: 200_000 };
  const submission = submissionFor([model.url]);
  const batch = await server.submit({ ...submission, agent: { ...submission.agent, limits } }, allYes(RUNNING));
  await using worker = await TestWorker.start(store, server, batch, { slots: RUNNING });
  await until('the calls run', () => model.open.size === RUNNING);
  const paused = await server.api.setEndpoint({ endpoint: model.url, state: 'paused', mode: 'abort', version: 1 });
  assert.deepEqual([paused.state, paused.calls, paused.mode], ['paused', 0, 'abort']);
  await until('they are closed', () => model.closed === RUNNING);
  model.answers = true;
  await server.api.setEndpoint({ endpoint: model.url, state: 'serving', version: 2 });
  assert.equal(await worker.exited, 0, worker.stderr);
  await until('all passed', passed(server, batch, RUNNING));
  const calls = await modelCalls(server, batch);
  assert.equal(calls.length, RUNNING, 'one span each');
  for (const { end } of calls) {
    assert.deepEqual(
      [end.data.status, end.data.aborted, end.data.retries, end.data.weights_from, end.data.weights],
      ['ok', 1, undefined, '2', '2'],
    );
    assert.ok((end.data.paused_ms ?? 0) > 0);
    assert.deepEqual(end.data.pause, { endpoint: model.url, by: 'trainer' });
  }
});

test('no limit counts a pause, and workers that join during it start no call', async () => {
  await using store = new TestStore();
  await using model = await HeldModel.start();
  const server = await store.start();
  const submission = submissionFor([model.url]);
  const limits = { ...submission.agent.limits, seconds: 1 };
  const short = { ...submission.agent, limits, model: { ...submission.agent.model, endpoint_wait_seconds: 1 } };
  const batch = await server.submit({ ...submission, agent: short }, allYes(4));
  await until('the endpoint is known', async () => (await stateOf(server, model.url)) === 'serving');
  await server.api.setEndpoint({ endpoint: model.url, state: 'paused', by: 'ada' });
  await using worker = await TestWorker.start(store, server, batch);
  await until('its calls have begun', async () => (await begun(server, batch)) === 4);
  const at = Date.now();
  // Longer than both limits.
  await until('time passes', async () => {
    const info = (await server.api.endpoints()).find(({ endpoint }) => endpoint === model.url);
    return info?.state === 'paused' && Date.now() - at > 2_500;
  });
  assert.equal(model.received, 0, 'nothing started');
  model.answers = true;
  await server.api.setEndpoint({ endpoint: model.url, state: 'serving' });
  await until('all passed', passed(server, batch, 4));
  for (const { end } of await modelCalls(server, batch)) {
    assert.ok((end.data.paused_ms ?? 0) > 2_000);
    assert.deepEqual(end.data.pause, { endpoint: model.url, by: 'ada' });
  }
  for await (const { progress } of server.api.allRollouts(batch))
    assert.deepEqual(progress.incidents?.paused?.by, { [model.url]: ['ada'] });
  assert.equal(await worker.exited, 0, worker.stderr);
});

test('a pause outlives the server, and a worker that is killed in it', async () => {
  await using store = new TestStore();
  await using model = await HeldModel.start();
  const server = await store.start();
  const batch = await server.submit(submissionFor([model.url]), allYes(6));
  await until('the endpoint is known', async () => (await stateOf(server, model.url)) === 'serving');
  await server.api.setEndpoint({ endpoint: model.url, state: 'paused', version: 4 });
  const victim = await TestWorker.start(store, server, batch, { slots: 3 });
  await using survivor = await TestWorker.start(store, server, batch, { slots: 3 });
  await until('both have rollouts', async () => (await server.api.batch(batch)).counts.running === 6);
  await victim.kill();
  await server.kill();
  const next = await store.start();
  await until('it knows the pause', async () => (await stateOf(next, model.url)) !== undefined);
  const [info] = await next.api.endpoints();
  assert.deepEqual([info?.endpoint, info?.version, info?.by], [model.url, 4, 'trainer']);
  await using helper = await TestWorker.start(store, next, batch, { slots: 6 });
  // The session of the killed worker ends with its lease, and the survivor reconnects and confirms.
  const paused = await next.api.setEndpoint({ endpoint: model.url, state: 'paused' });
  assert.deepEqual([paused.state, paused.calls], ['paused', 0]);
  assert.equal(model.received, 0);
  model.answers = true;
  await next.api.setEndpoint({ endpoint: model.url, state: 'serving', version: 5 });
  await until('all passed', passed(next, batch, 6));
  // The calls that the killed worker had begun ended with it.
  const calls = (await modelCalls(next, batch)).filter(({ end }) => end.data.status === 'ok');
  assert.equal(calls.length, 6);
  for (const { end } of calls) assert.equal(end.data.weights, '5');
  await Promise.all([survivor.exited, helper.exited]);
});

test('one of two endpoints is paused: calls go to the other one', async () => {
  await using store = new TestStore();
  await using a = await HeldModel.start();
  await using b = await HeldModel.start();
  const server = await store.start();
  const batch = await server.submit(submissionFor([a.url, b.url]), allYes(12));
  await until('the endpoint is known', async () => (await stateOf(server, a.url)) === 'serving');
  await server.api.setEndpoint({ endpoint: a.url, state: 'paused', version: 1 });
  await server.api.setEndpoint({ endpoint: b.url, state: 'serving', version: 9 });
  b.answers = true;
  await using worker = await TestWorker.start(store, server, batch, { slots: 12 });
  assert.equal(await worker.exited, 0, worker.stderr);
  assert.deepEqual([a.received, (await server.api.batch(batch)).counts.passed], [0, 12]);
  for (const { start, end } of await modelCalls(server, batch))
    assert.deepEqual([start.data.endpoint, start.data.weights, end.data.weights], [b.url, '9', '9']);
});

test('what cannot be announced is refused, and a pause that does not end is reported', async () => {
  await using store = new TestStore();
  await using model = await HeldModel.start();
  const server = await store.start();
  const batch = await server.submit(submissionFor([model.url]), allYes(1));
  await until('the endpoint is known', async () => (await stateOf(server, model.url)) === 'serving');
  const refused = (code: string, text: RegExp) => (error: unknown) =>
    StudioError.is(error) && error.code === code && text.test(`${error.message} ${error.hint ?? ''}`);
  await assert.rejects(
    server.api.setEndpoint({ endpoint: 'http://nobody.invalid/v1', state: 'paused' }),
    refused('not_found', new RegExp(`nobody.invalid.*in use: ${model.url}`)),
  );
  await assert.rejects(
    server.api.setEndpoint({ endpoint: model.url, replica: 'pod-7', state: 'paused' }),
    refused('not_found', /has no replicas of its own/),
  );
  await server.api.setEndpoint({ endpoint: model.url, state: 'serving', version: 8 });
  await assert.rejects(
    server.api.setEndpoint({ endpoint: model.url, state: 'serving', version: 7 }),
    refused('conflict', /Version 7 .* older than version 8.*force/),
  );
  await server.api.setEndpoint({ endpoint: model.url, state: 'serving', version: 7, force: true });

  // A call that does not end in time: the pause remains.
  await using worker = await TestWorker.start(store, server, batch);
  await until('the call runs', () => model.open.size === 1);
  await assert.rejects(
    server.api.setEndpoint({ endpoint: model.url, state: 'paused', wait_seconds: 5, pause_seconds: 0.5 }),
    refused('unavailable', /1 call still in flight/),
  );
  // The trainer is dead. People learn who paused the endpoint, and how to resume it.
  const infra = async (): Promise<string[]> =>
    (await server.api.events(batch)).events.flatMap((event) => (event.kind === 'infra' ? [event.data.text] : []));
  await until('it is reported', async () => (await infra()).some((text) => text.includes('paused by trainer')));
  const reported = (await infra()).filter((text) => text.includes('paused by trainer'));
  assert.equal(reported.length, 1);
  assert.match(reported[0]!, new RegExp(`rollout endpoint resume ${model.url}`));
  // A request that waits learns that somebody else resumed it.
  const waits = server.api.setEndpoint({ endpoint: model.url, state: 'paused', pause_seconds: 0.5 });
  const outcome = assert.rejects(waits, refused('conflict', /ada resumed/));
  await until('it waits', async () => (await stateOf(server, model.url)) === 'pausing');
  await server.api.setEndpoint({ endpoint: model.url, state: 'serving', by: 'ada' });
  await outcome;
  assert.match((await infra()).at(-1) ?? '', /^ada resumed the model endpoint/);
  model.answer();
  assert.equal(await worker.exited, 0, worker.stderr);
});

test('people see and end a pause with the command line', async () => {
  await using store = new TestStore();
  await using model = await HeldModel.start();
  const server = await store.start();
  await server.submit(submissionFor([model.url]), allYes(1));
  await until('the endpoint is known', async () => (await stateOf(server, model.url)) === 'serving');
  await server.api.setEndpoint({ endpoint: model.url, state: 'paused', version: 3, by: 'the trainer' });
  const bench = new Bench({ store: store.folder });
  try {
    const list = await bench.run(['endpoint', 'list']);
    assert.match(list.stdout, new RegExp(`^${model.url} +paused +3 +0 +the trainer`, 'm'), list.stderr);
    const version = await bench.run(['endpoint', 'version', model.url, '--weights', '2']);
    assert.match(version.stderr, /older than version 3/);
    const resumed = await bench.run(['endpoint', 'resume', model.url, '--weights', '4'], {
      env: { ROLLOUT_USER: 'ada' },
    });
    assert.equal(resumed.stdout.trim(), `${model.url} serves, weights 4.`);
    const [info] = await server.api.endpoints();
    assert.deepEqual([info?.state, info?.version, info?.by], ['serving', 4, 'ada']);
    const paused = await bench.run(['endpoint', 'pause', model.url, '--abort', '--json']);
    assert.equal((JSON.parse(paused.stdout) as { state: string }).state, 'paused');
  } finally {
    await bench.close();
  }
});

test('the server itself pauses and resumes a vLLM where the agent file says so', async () => {
  await using store = new TestStore();
  /** The requests to the routes of control, with their keys, and the model calls, in order. */
  const seen: string[] = [];
  let status = 200;
  let isRouter = false;
  await using engine = await fakeEndpoint((request, response) => {
    const { path, body, headers } = request;
    if (path === '/list_workers' || path === '/engines') {
      const workers = { urls: ['http://10.0.0.1:8000', 'http://10.0.0.2:8000'] };
      if (isRouter && path === '/list_workers') response.end(JSON.stringify(workers));
      else response.writeHead(404).end();
      return;
    }
    if (path.endsWith('/chat/completions')) {
      seen.push('call');
      answerText(response, 'yes');
      return;
    }
    if (path.endsWith('/metrics')) {
      response.writeHead(404).end();
      return;
    }
    seen.push(`${path}${Object.keys(body).length === 0 ? '' : ` ${JSON.stringify(body)}`}`);
    assert.equal(headers.authorization, 'Bearer the key');
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(status === 200 ? { status: 'ok' } : { detail: 'Not Found' }));
  });
  const server = await store.start();
  const plain = submissionFor([engine.url]);
  const model = { ...plain.agent.model, control: 'vllm' as const, api_key: `\${env:ENGINE_KEY}` };
  const env = { names: ['ENGINE_KEY'], shown: [] };
  const submission = { ...plain, env, agent: { ...plain.agent, model } };
  await server.submit(submission, allYes(2), { secrets: { ENGINE_KEY: 'the key' } });
  await until('the endpoint is known', async () => (await stateOf(server, engine.url)) === 'serving');

  await server.api.setEndpoint({ endpoint: engine.url, state: 'paused' });
  await server.api.setEndpoint({ endpoint: engine.url, state: 'serving', version: 6 });
  await server.api.setEndpoint({ endpoint: engine.url, state: 'paused', mode: 'abort' });
  assert.deepEqual(seen.splice(0), [
    '/pause?mode=wait',
    '/update_weight_version {"new_version":"6"}',
    '/resume',
    '/pause?mode=abort',
  ]);
  await assert.rejects(server.api.setEndpoint({ endpoint: engine.url, state: 'serving', version: 5 }), (error) =>
    StudioError.is(error, 'conflict'),
  );
  assert.deepEqual(seen, [], 'the engine does not learn of a version that is refused');

  // An engine that has no such routes: workers keep waiting, and the message says what to do.
  status = 404;
  await assert.rejects(
    server.api.setEndpoint({ endpoint: engine.url, state: 'serving', version: 7 }),
    (error) =>
      StudioError.is(error, 'unavailable') &&
      /update_weight_version: 404/.test(error.message) &&
      /VLLM_SERVER_DEV_MODE=1/.test(error.hint ?? ''),
  );
  assert.equal(await stateOf(server, engine.url), 'paused');
  status = 200;
  const serving = await server.api.setEndpoint({ endpoint: engine.url, state: 'serving', version: 7 });
  assert.deepEqual([serving.state, serving.version], ['serving', 7]);

  // A router would pass a command on to one of its engines.
  seen.length = 0;
  isRouter = true;
  for (const state of ['paused', 'serving'] as const)
    await assert.rejects(
      server.api.setEndpoint({ endpoint: engine.url, state, version: 8 }),
      (error) =>
        StudioError.is(error, 'unsupported') &&
        error.message.includes('is a router (vLLM Router, 2 engines)') &&
        /remove `control: vllm`/.test(error.hint ?? ''),
    );
  assert.deepEqual([await stateOf(server, engine.url), seen], ['serving', []], 'nothing changed');
  await assert.rejects(
    server.api.setEndpoint({ endpoint: engine.url, replica: 'vllm-0', state: 'paused' }),
    (error) => StudioError.is(error, 'not_found') && /has no replicas of its own/.test(error.message),
  );
  // A pause from before ends without it.
  isRouter = false;
  await server.api.setEndpoint({ endpoint: engine.url, state: 'paused' });
  isRouter = true;
  seen.length = 0;
  const resumed = await server.api.setEndpoint({ endpoint: engine.url, state: 'serving', version: 8 });
  assert.deepEqual([resumed.state, resumed.version, seen], ['serving', 8, []]);
});
