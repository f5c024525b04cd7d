/** A worker that has to stop hands its rollouts over: no call that was answered is made again, none starts over. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { batchSnapshot } from '../../src/client/commands/batchSnapshot.ts';
import { reportInput } from '../../src/client/commands/reportInput.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { report } from '../../src/trace/statistics.ts';
import { assertWhole, eventsOf, NO_SANDBOX, submission, task } from '../support/directed.ts';
import {
  answerStream,
  answerText,
  bodiesOf,
  chatEndpoint,
  chunk,
  type FakeEndpoint,
  type Script,
  usageChunk,
} from '../support/endpoint.ts';
import { type TestServer, TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';

const STEPS = 6;
const skip = process.platform === 'win32' ? 'Windows has no SIGTERM' : false;
const LEAVES = { interrupted_exit: 3, handed_over_exit: 4 } as const;

/** Calls the tool in each step but the last. `before`: waits before it answers. */
function model(before: (question: string, step: number) => Promise<unknown>, tool = 'calculate'): Script {
  return async ({ body }, response) => {
    const { question, step } = placeOf(body as never);
    await before(question, step);
    if (step < STEPS) callTool(response, `c${step}`, tool);
    else answerText(response, '42');
  };
}

interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

function placeOf({ messages }: { readonly messages: readonly ChatMessage[] }): { question: string; step: number } {
  const question = messages.find(({ role }) => role === 'user')?.content ?? '';
  return { question, step: 1 + messages.filter(({ role }) => role === 'assistant').length };
}

function callTool(response: ServerResponse, id: string, name: string): void {
  const args = name === 'calculate' ? { expression: '40 + 2' } : { command: 'echo x' };
  const call = { index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
  answerStream(response, [
    chunk({ delta: { role: 'assistant', content: '' } }),
    chunk({ delta: { tool_calls: [call] } }),
    chunk({ finish: 'tool_calls' }),
    usageChunk(3, 2),
  ]);
}

/** The requests by task and step. */
function requestsOf(endpoint: FakeEndpoint): string[] {
  return bodiesOf(endpoint)
    .map((body) => placeOf(body as never))
    .map(({ question, step }) => `${question} ${step}`)
    .sort();
}

const everyRequest = (tasks: readonly string[]): string[] =>
  tasks.flatMap((name) => Array.from({ length: STEPS }, (_, index) => `${name} ${index + 1}`)).sort();

async function streamsOf(server: TestServer, batch: string): Promise<TraceEvent[][]> {
  const { rollouts } = await server.api.rollouts(batch);
  return Promise.all(rollouts.map(({ rollout }) => eventsOf(server, rollout)));
}

async function infraOf(server: TestServer, batch: string): Promise<{ what: string; text: string }[]> {
  return (await server.api.events(batch)).events.flatMap((event) => (event.kind === 'infra' ? [event.data] : []));
}

/** Milliseconds between a handover and the lease that follows. */
function gapsOf(streams: readonly (readonly TraceEvent[])[]): number[] {
  return streams.flatMap((events) =>
    events.flatMap(({ kind, at }, index) => {
      const next = events.slice(index).find((event) => event.kind === 'rollout.lease');
      return kind === 'rollout.handover' && next !== undefined ? [next.at - at] : [];
    }),
  );
}

test('hands its rollouts over to another worker, and no call is made twice', { skip }, async (t) => {
  await using store = new TestStore();
  const server = await store.start();
  const tasks = Array.from({ length: 16 }, (_, index) => `task ${index}`);
  const [half, underWay] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const seen = new Set<string>();
  await using endpoint = await chatEndpoint(
    model(async (question, step) => {
      if (step === 2 && seen.add(question).size === tasks.length / 2) half.resolve(undefined);
      if (seen.size === tasks.length) underWay.resolve(undefined);
      // Until both workers have rollouts, none gets far.
      if (step === 3) await underWay.promise;
      await sleep(100 + Math.random() * 200);
    }),
  );
  const batch = await server.submit(
    submission({ attempts: 1 }, endpoint.url),
    tasks.map((name) => task(name.replace(' ', '-'), name, '42')),
  );
  const options = { ...LEAVES, handover_seconds: 30 };
  // The second has slots for all, so that nothing has to wait for one.
  await using first = await TestWorker.start(store, server, batch, { ...options, slots: 8 });
  await half.promise;
  await using second = await TestWorker.start(store, server, batch, { ...options, slots: 24 });
  await underWay.promise;
  const began = Date.now();
  assert.equal(await first.kill('SIGTERM'), 4, first.stderr);
  const leftMs = Date.now() - began;
  assert.equal(await second.exited, 0, second.stderr);
  assert.deepEqual(requestsOf(endpoint), everyRequest(tasks));
  const streams = await streamsOf(server, batch);
  for (const events of streams) assertWhole(events);
  const gaps = gapsOf(streams);
  assert.ok(gaps.length > 0, 'rollouts were handed over');
  const lost = streams.flatMap((events) =>
    events.filter((event) => event.kind === 'model.end' && event.data.status !== 'ok'),
  );
  assert.deepEqual(lost, [], 'each call was waited for');
  const infra = await infraOf(server, batch);
  assert.deepEqual(
    infra.map(({ what }) => what).filter((what) => what.startsWith('worker_')),
    ['worker_leaving'],
    JSON.stringify(infra),
  );
  const { signal } = new AbortController();
  const { batch: row, rows } = await batchSnapshot(server.api, batch, signal);
  const { incidents } = report(await reportInput(server.api, row, [], signal, rows));
  assert.deepEqual(
    incidents.filter(({ kind }) => kind === 'worker').map(({ text }) => text),
    [`1 worker had to stop; ${gaps.length} rollouts handed over to others`],
  );
  t.diagnostic(
    `${gaps.length} rollouts handed over; longest gap ${Math.max(...gaps)} ms; worker ended in ${leftMs} ms`,
  );
});

test('waits for a long call while the others continue elsewhere', { skip }, async () => {
  await using store = new TestStore();
  const server = await store.start();
  const tasks = ['long', 'short'];
  const reached = Promise.withResolvers<undefined>();
  const answered = Promise.withResolvers<undefined>();
  const continued = Promise.withResolvers<undefined>();
  await using endpoint = await chatEndpoint(
    model(async (question, step) => {
      if (question === 'short') {
        // Its next steps are made by the other worker.
        if (step === STEPS) continued.resolve(undefined);
        await sleep(50);
        return;
      }
      if (step !== 2) return;
      reached.resolve(undefined);
      await answered.promise;
    }),
  );
  // The one that is in a long call is alone in its worker, so that `short` cannot end there.
  const batch = await server.submit(submission({ attempts: 1 }, endpoint.url), [
    task('long', 'long', '42'),
    task('short', 'short', '42'),
  ]);
  await using first = await TestWorker.start(store, server, batch, { ...LEAVES, slots: 1, handover_seconds: 60 });
  await reached.promise;
  first.process.kill('SIGTERM');
  await using second = await TestWorker.start(store, server, batch, { ...LEAVES, slots: 2, handover_seconds: 60 });
  await continued.promise;
  assert.equal(first.process.exitCode, null, 'it waits for the answer');
  answered.resolve(undefined);
  assert.equal(await first.exited, 4, first.stderr);
  assert.equal(await second.exited, 0, second.stderr);
  assert.deepEqual(requestsOf(endpoint), everyRequest(tasks));
});

test('drops a call that takes longer than it may wait, and only that one is made again', { skip }, async () => {
  await using store = new TestStore();
  const server = await store.start();
  const reached = Promise.withResolvers<undefined>();
  let hangs = true;
  await using endpoint = await chatEndpoint(
    model(async (_, step) => {
      if (step !== 3 || !hangs) return;
      hangs = false;
      reached.resolve(undefined);
      await new Promise(() => undefined);
    }),
  );
  const batch = await server.submit(submission({ attempts: 1 }, endpoint.url), [task('a', 'a', '42')]);
  await using first = await TestWorker.start(store, server, batch, { ...LEAVES, handover_seconds: 0.2 });
  await reached.promise;
  assert.equal(await first.kill('SIGTERM'), 4, first.stderr);
  await using second = await TestWorker.start(store, server, batch, LEAVES);
  assert.equal(await second.exited, 0, second.stderr);
  assert.deepEqual(requestsOf(endpoint), [...everyRequest(['a']), 'a 3'].sort());
  const [events = []] = await streamsOf(server, batch);
  assertWhole(events);
  assert.deepEqual(
    events.flatMap((event) => (event.kind === 'model.end' ? (event.data.error?.message ?? []) : [])),
    ['Its worker handed the rollout over.'],
  );
});

test('lets a rollout end whose session no other worker can restore', { skip }, async () => {
  await using store = new TestStore();
  const server = await store.start();
  const underWay = Promise.withResolvers<undefined>();
  await using endpoint = await chatEndpoint(
    model(async (_, step) => {
      if (step === 3) underWay.resolve(undefined);
      await sleep(50);
    }, 'execute_command'),
  );
  const batch = await server.submit(submission({ attempts: 1, sandbox: NO_SANDBOX }, endpoint.url), [
    task('a', 'a', '42'),
  ]);
  await using worker = await TestWorker.start(store, server, batch, { ...LEAVES, handover_seconds: 60 });
  await underWay.promise;
  assert.equal(await worker.kill('SIGTERM'), 4, worker.stderr);
  const { counts } = await server.api.batch(batch);
  assert.equal(counts.passed, 1);
  assert.deepEqual(requestsOf(endpoint), everyRequest(['a']));
});
