/** Commands of a person to rollouts while a real worker runs them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../src/common/ids.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { additionTask, assertWhole, eventsOf, submission, task, until } from '../support/directed.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';

const kinds = (events: readonly TraceEvent[], kind: TraceEvent['kind']): number =>
  events.filter((event) => event.kind === kind).length;

test('a paused batch holds at the next gates and continues when it is resumed @deep', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(submission({ attempts: 1 }, 'demo:?latency_ms=100'), [additionTask('a', 6)]);
  await using worker = await TestWorker.start(store, server, batch);
  await until(server, batch, (events) => kinds(events, 'model.end') >= 2);
  await server.api.commandBatch(batch, { command: newId('c'), verb: 'pause' });
  const { events } = await until(server, batch, (all) => kinds(all, 'hold') === 1);
  assert.equal(events.at(-1)?.kind, 'hold');
  assert.equal((await server.api.batch(batch)).counts.held, 1);
  await server.api.commandBatch(batch, { command: newId('c'), verb: 'resume' });
  assert.equal(await worker.exited, 0, worker.stderr);
  const [row] = (await server.api.rollouts(batch)).rollouts;
  assertWhole(await eventsOf(server, row!.rollout));
  assert.equal(row?.progress.passed, true);
});

test('a held rollout gives its slot to the next one', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(submission({ attempts: 1, concurrency: 1 }, 'demo:?latency_ms=400'), [
    additionTask('a', 5),
    additionTask('b', 1),
  ]);
  await using worker = await TestWorker.start(store, server, batch, { slots: 1 });
  const { rollout } = await until(server, batch, (events) => kinds(events, 'model.end') >= 1);
  const { seq } = await server.api.commandRollout(rollout, { command: newId('c'), verb: 'hold', by: 'me' });
  const held = await eventsOf(server, rollout);
  assert.equal(held.find((event) => event.seq === seq)?.kind, 'hold');
  for (;;) {
    const rows = (await server.api.rollouts(batch)).rollouts;
    if (rows.some((row) => row.task === 'b' && row.state === 'ended')) break;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  await server.api.commandRollout(rollout, { command: newId('c'), verb: 'release', by: 'me' });
  assert.equal(await worker.exited, 0, worker.stderr);
  const { counts } = await server.api.batch(batch);
  assert.equal(counts.passed, 2);
});

test('cancel ends a rollout within a second, even inside a hanging tool @deep', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(submission({ attempts: 1 }), [
    task('a', 'call execute_command {"command": "sleep 600"}', 'x'),
  ]);
  await using worker = await TestWorker.start(store, server, batch);
  const { rollout } = await until(server, batch, (events) => kinds(events, 'tool.start') === 1);
  const began = performance.now();
  await server.api.commandRollout(rollout, { command: newId('c'), verb: 'cancel', by: 'me' });
  assert.ok(performance.now() - began < 1_000);
  const events = await eventsOf(server, rollout);
  assertWhole(events);
  const end = events.at(-1);
  assert.ok(end?.kind === 'rollout.end' && end.data.status === 'cancelled');
  assert.equal(await worker.exited, 0, worker.stderr);
});

test('one rollout of the batch stops at a breakpoint that holds once @deep', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(submission({ attempts: 4 }, 'demo:?latency_ms=400'), [additionTask('a', 1)]);
  await server.api.commandBatch(batch, {
    command: newId('c'),
    verb: 'breakpoints',
    args: { breakpoints: [{ id: 'p1', side: 'before', tool: 'calculate', once: true }] },
  });
  await using worker = await TestWorker.start(store, server, batch);
  for (;;) {
    const { counts } = await server.api.batch(batch);
    if (counts.held === 1 && counts.passed === 3) break;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  const held = (await server.api.rollouts(batch)).rollouts.find((row) => row.state === 'held');
  assert.equal(held?.progress.hold?.breakpoint, 'p1');
  await server.api.commandRollout(held.rollout, { command: newId('c'), verb: 'release', by: 'me' });
  assert.equal(await worker.exited, 0, worker.stderr);
});

test('a watcher of a rollout sees the text as it is written', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(submission({ attempts: 1 }, 'demo:?latency_ms=1500&chunks=60'), [
    additionTask('a', 1),
  ]);
  await using worker = await TestWorker.start(store, server, batch);
  const { rollout } = await until(server, batch, (events) => kinds(events, 'model.start') === 1);
  const client = await server.client();
  client.subscribe('s', rollout, 0, { deltas: true });
  const first = await client.frames.next('delta');
  const second = await client.frames.next('delta');
  assert.equal(first.span, second.span);
  assert.ok(second.offset >= first.offset + first.text.length);
  assert.ok(first.text.length > 0);
  client.close();
  assert.equal(await worker.exited, 0, worker.stderr);
});

test('no secret gets into the record', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const plain = submission({ attempts: 1, env: { names: ['PASSPHRASE'], shown: [] } });
  const model = { ...plain.agent.model, headers: { 'x-team': '${env:PASSPHRASE}' } };
  const secret = 'open-sesame-please';
  const leaking = task('a', `call execute_command {"command": "echo the word is ${secret}"}\nanswer {{last}}`, 'x');
  const batch = await server.submit({ ...plain, agent: { ...plain.agent, model } }, [leaking], {
    secrets: { PASSPHRASE: secret },
  });
  await using worker = await TestWorker.start(store, server, batch, {
    secrets: `${store.folder}/secrets/${batch}.json`,
  });
  assert.equal(await worker.exited, 0, worker.stderr);
  const [row] = (await server.api.rollouts(batch)).rollouts;
  const text = JSON.stringify(await eventsOf(server, row!.rollout));
  assert.ok(text.includes('[redacted]'));
  assert.equal(text.includes(secret), false);
});
