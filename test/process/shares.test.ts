/**
 * Several queues and batches at one server, fairly: a real server and real workers, whose calls the test answers. What
 * is compared are numbers of calls, never times.
 */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { z } from 'zod';
import { StudioError } from '../../src/common/errors.ts';
import type { Submission } from '../../src/config/submission.ts';
import type { WaitingBatch } from '../../src/protocol/shares.ts';
import type { EventOf } from '../../src/trace/schema.ts';
import { chatEndpoint, type FakeEndpoint, type ReceivedRequest } from '../support/endpoint.ts';
import { plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';
import { until } from '../support/until.ts';
import { TestWorker } from '../support/workerProcess.ts';

const TOKENS = 8;
const SHARES = {
  ROLLOUT_SHARES: JSON.stringify({
    queues: {
      research: { weight: 2 },
      small: { rollouts: 3 },
      thrifty: { tokens_per_hour: 5 * TOKENS },
      closed: { users: ['ann'] },
    },
  }),
};

/** A chat model that runs a fixed number of calls at once, refuses more, and knows which batch a call is of. */
class Model implements AsyncDisposable {
  readonly #endpoint: FakeEndpoint;
  /** Calls that are not answered yet, with the name of their batch. */
  readonly open = new Map<ServerResponse, string>();
  /** Calls that were accepted, by batch. */
  readonly accepted = new Map<string, number>();
  capacity = Infinity;
  refused = 0;
  /** Whether agents have to call again, since there is no tool as in the answer. */
  again = false;
  /** Whether calls are answered after this time, rather than by the test. */
  latencyMs: number | undefined;

  private constructor(endpoint: FakeEndpoint) {
    this.#endpoint = endpoint;
  }

  static async start(): Promise<Model> {
    const model: Model = new Model(await chatEndpoint((request, response) => model.#receive(request, response)));
    return model;
  }

  get url(): string {
    return this.#endpoint.url;
  }

  #receive({ body }: ReceivedRequest, response: ServerResponse): void {
    if (this.open.size >= this.capacity) {
      this.refused++;
      response.writeHead(429, { 'content-type': 'application/json' });
      response.end('{"error": {"message": "too many requests"}}');
      return;
    }
    const batch = z.string().parse(body['model']);
    this.accepted.set(batch, (this.accepted.get(batch) ?? 0) + 1);
    this.open.set(response, batch);
    response.once('close', () => this.open.delete(response));
    if (this.latencyMs !== undefined) setTimeout(() => this.#answer(response), this.latencyMs);
  }

  openOf(batch: string): number {
    return [...this.open.values()].filter((name) => name === batch).length;
  }

  /** Answers the open calls of a batch. */
  answer(batch: string, count = Infinity): void {
    for (const response of [...this.open].filter(([, name]) => name === batch).slice(0, count))
      this.#answer(response[0]);
  }

  #answer(response: ServerResponse): void {
    if (!this.open.delete(response)) return; // answered before, or given up
    response.writeHead(200, { 'content-type': 'application/json' });
    const call = { id: 'c1', type: 'function', function: { name: 'none', arguments: '{}' } };
    const message = this.again
      ? { role: 'assistant', content: null, tool_calls: [call] }
      : { role: 'assistant', content: 'yes' };
    response.end(
      JSON.stringify({
        choices: [{ index: 0, message, finish_reason: this.again ? 'tool_calls' : 'stop' }],
        usage: { prompt_tokens: TOKENS - 1, completion_tokens: 1, total_tokens: TOKENS },
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endpoint[Symbol.asyncDispose]();
  }
}

/** A submission whose calls name the batch as their model. */
function submissionFor(model: Model, name: string, changes: Partial<Submission> = {}): Submission {
  const plain = plainSubmission({ name, attempts: 1, ...changes });
  return {
    ...plain,
    agent: { ...plain.agent, model: { ...plain.agent.model, endpoints: [model.url], name, stream: 'never' } },
  };
}

const yes = (count: number) => tasks(count).map((task) => ({ ...task, answer: 'yes' }));

/**
 * Lets the endpoint refuse some calls, so that its limit is known: it falls, and then grows by one a round, which
 * leaves it below what all could use.
 */
async function limited(server: TestServer, model: Model): Promise<void> {
  model.capacity = 12;
  await until('it was refused', () => model.refused > 0);
  model.capacity = Infinity;
  await until('it answers again', async () => {
    for (const batch of new Set(model.open.values())) model.answer(batch, 1);
    return (await server.api.server()).endpoints[0]?.state === 'ok';
  });
}

async function waitOf(server: TestServer, batch: string): Promise<WaitingBatch | undefined> {
  return (await server.api.shares()).waiting.find((one) => one.batch === batch);
}

async function passedOf(server: TestServer, batches: readonly string[]): Promise<number> {
  const rows = await Promise.all(batches.map((batch) => server.api.batch(batch)));
  return rows.reduce((sum, { counts }) => sum + counts.passed, 0);
}

async function modelEnds(server: TestServer, batch: string): Promise<EventOf<'model.end'>[]> {
  const ends: EventOf<'model.end'>[] = [];
  for await (const row of server.api.allRollouts(batch))
    for (const event of (await server.api.events(row.rollout)).events) if (event.kind === 'model.end') ends.push(event);
  return ends;
}

test('a queue of twice the weight makes twice the calls, however much the others could run', async () => {
  await using store = new TestStore();
  await using model = await Model.start();
  const server = await store.start(['--executor', 'none'], SHARES);
  model.again = true;
  const heavy = await server.submit(submissionFor(model, 'heavy', { queue: 'research', concurrency: 48 }), yes(48));
  const light = await server.submit(submissionFor(model, 'light', { concurrency: 96 }), yes(96));
  await using _ = await TestWorker.start(store, server, heavy, { slots: 48 });
  await using __ = await TestWorker.start(store, server, light, { slots: 96 });
  await limited(server, model);
  // Workers call no more than what has just been answered after a refusal, so they need some answers first.
  model.latencyMs = 50;
  for (const batch of ['heavy', 'light']) model.answer(batch);
  const most = { heavy: 0, light: 0 };
  await until('both call as before', () => {
    for (const batch of ['heavy', 'light'] as const) most[batch] = Math.max(most[batch], model.openOf(batch));
    return most.heavy >= 16 && most.light >= 16;
  });
  model.latencyMs = undefined;
  // In each round, permits are in use before their calls are counted and answered, by the same rollouts: how fast they
  // are leased, or anything else runs, does not matter.
  const made = { heavy: 0, light: 0 };
  for (let round = 0; round < 8; round++) {
    await until('permits are in use', async () => {
      const { permits } = (await server.api.server()).endpoints[0] ?? { permits: Infinity };
      if (model.open.size >= permits * 0.9) return true;
      // A worker whose call was refused makes more of them only as others are answered.
      for (const batch of ['heavy', 'light']) model.answer(batch, 1);
      return false;
    });
    for (const batch of ['heavy', 'light'] as const) {
      made[batch] += model.openOf(batch);
      model.answer(batch);
    }
  }
  const part = made.heavy / (made.heavy + made.light);
  assert.ok(Math.abs(part - 2 / 3) < 0.07, `${made.heavy} and ${made.light} calls: ${part.toFixed(3)}`);
  const { rows, queues } = await server.api.shares();
  assert.deepEqual(queues, ['default', 'research', 'small', 'thrifty', 'closed']);
  const row = (name: string) => rows.find((one) => one.kind === 'queue' && one.name === name);
  assert.deepEqual([row('research')?.entitled, row('default')?.entitled], [2 / 3, 1 / 3]);
  assert.ok((row('research')?.tokens.hour ?? 0) > 0);
  // Of the calls in the last minute: all of them, or without the first ones, which both made alike.
  const answered = (batch: string): number => (model.accepted.get(batch) ?? 0) - model.openOf(batch);
  const atLeast = answered('heavy') / (answered('heavy') + answered('light'));
  const used = row('research')?.used ?? 0;
  assert.ok(used > atLeast - 0.1 && used < 2 / 3 + 0.1, `${used} used, of all calls ${atLeast}`);
  assert.equal(rows.find(({ kind, name }) => kind === 'user' && name === '')?.batches, 2);
  await assert.rejects(
    server.submit(submissionFor(model, 'lost', { queue: 'reserch' }), yes(1)),
    (error) => StudioError.is(error, 'config') && /research, small/.test(error.hint ?? ''),
  );
});

test('rollouts of a higher priority get all calls, and the others wait and continue', async () => {
  await using store = new TestStore();
  await using model = await Model.start();
  const server = await store.start(['--executor', 'none'], SHARES);
  const low = await server.submit(submissionFor(model, 'low', { concurrency: 40 }), yes(80));
  await using _ = await TestWorker.start(store, server, low, { slots: 40 });
  await limited(server, model);
  await until('the calls of the low one run', () => model.openOf('low') >= 10);
  const high = await server.submit(submissionFor(model, 'high', { priority: 5, concurrency: 90 }), yes(90));
  await using __ = await TestWorker.start(store, server, high, { slots: 90 });
  await until('the high one calls', () => model.openOf('high') >= 10);
  await until('it waits for the priority', async () => (await waitOf(server, low))?.why === 'priority');
  const wait = await waitOf(server, low);
  assert.equal(wait?.position, wait?.of, 'the one of the higher priority comes before it, if it waits, too');
  const made = model.accepted.get('low') ?? 0;
  // Its running calls end, and no further one starts.
  const running = model.openOf('low');
  model.answer('low');
  await until('they are recorded', async () => (await server.api.batch(low)).counts.passed >= running);
  model.answer('high', 5);
  await until('the high one goes on', () => (model.accepted.get('high') ?? 0) > 15);
  assert.equal(model.accepted.get('low'), made);
  assert.ok((await server.api.batch(low)).counts.running > 0, 'its rollouts are kept');
  model.latencyMs = 5;
  for (const batch of ['low', 'high']) model.answer(batch);
  await until('both end', async () => {
    const [one, other] = await Promise.all([server.api.batch(low), server.api.batch(high)]);
    return one.counts.passed === 80 && other.counts.passed === 90;
  });
  const ends = await modelEnds(server, low);
  assert.equal(ends.length, 80, 'no call was made again');
  const held = ends.filter(({ data }) => data.waited_for === 'priority');
  assert.ok(held.length > 0 && held.every(({ data }) => (data.waited_ms ?? 0) > 0), `${held.length} calls waited`);
  assert.ok((await modelEnds(server, high)).every(({ data }) => data.waited_for !== 'priority'));
});

test('limits of a queue on rollouts and tokens hold, over all its batches and a restart', async () => {
  await using store = new TestStore();
  await using model = await Model.start();
  let server = await store.start(['--executor', 'none'], SHARES);
  const small = ['s1', 's2'].map((name) => submissionFor(model, name, { queue: 'small' }));
  const batches = await Promise.all(small.map((submission) => server.submit(submission, yes(6))));
  const workers: TestWorker[] = [];
  try {
    for (const batch of batches) workers.push(await TestWorker.start(store, server, batch, { slots: 6 }));
    await until('three rollouts run', () => model.open.size === 3);
    await until('the reason is shown', async () => (await waitOf(server, batches[0] ?? ''))?.why === 'rollouts');
    const row = (await server.api.shares()).rows.find(({ kind, name }) => kind === 'queue' && name === 'small');
    assert.deepEqual([row?.rollouts.running, row?.rollouts.limit], [3, 3]);
    // Whoever came first has all three, and may be faster again for the next ones, but not for all.
    await until('both have some', () => {
      for (const name of ['s1', 's2']) if (model.openOf(name) === 3) model.answer(name, 1);
      return model.openOf('s1') > 0 && model.openOf('s2') > 0;
    });
    let most = 0;
    while ((await passedOf(server, batches)) < 12) {
      most = Math.max(most, model.open.size);
      model.answer([...model.open.values()][0] ?? '', 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.equal(most, 3);

    const thrifty = await server.submit(submissionFor(model, 'thrifty', { queue: 'thrifty', concurrency: 2 }), yes(9));
    workers.push(await TestWorker.start(store, server, thrifty, { slots: 2 }));
    await until('two calls run', () => model.open.size === 2);
    model.latencyMs = 1;
    model.answer('thrifty');
    await until('it waits for tokens', async () => (await waitOf(server, thrifty))?.why === 'tokens');
    const hour = async (): Promise<number | undefined> =>
      (await server.api.shares()).rows.find(({ kind, name }) => kind === 'queue' && name === 'thrifty')?.tokens.hour;
    // Calls that ran when the limit was reached end.
    await until('all calls are counted', async () => (await hour()) === (model.accepted.get('thrifty') ?? 0) * TOKENS);
    const [used, stopped] = [await hour(), model.accepted.get('thrifty') ?? 0];
    assert.ok(stopped >= 5 && stopped <= 7, `${stopped} calls`);
    await server.kill('SIGTERM');
    server = await store.start(['--executor', 'none'], SHARES);
    assert.equal(await hour(), used);
    await until('it still waits', async () => (await waitOf(server, thrifty))?.why === 'tokens');
    assert.equal(model.accepted.get('thrifty'), stopped);
  } finally {
    for (const worker of workers) await worker.kill();
  }
});
