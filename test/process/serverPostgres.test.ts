/** Two servers on one PostgreSQL: what one receives, the other's workers and clients see. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import type { BatchCommand } from '../../src/protocol/commands.ts';
import { openStore } from '../../src/store/open.ts';
import { endingEvents, openingEvents } from '../support/fakeWorker.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { plainSubmission, TestStore, tasks } from '../support/rolloutServer.ts';

let postgres: TestPostgres;
const store = new TestStore();
before(async () => {
  postgres = await startPostgres();
});
after(async () => {
  await store[Symbol.asyncDispose]();
  await postgres.stop();
});

test('two servers serve one store', async () => {
  const url = await postgres.createDatabase();
  const here = await store.startOn(url);
  const there = await store.startOn(url);
  assert.equal((await there.ready).type, 'ready');
  assert.ok(!JSON.stringify(await here.api.server()).includes(new URL(url).password || 'no password'));

  const batch = await here.submit(plainSubmission({ attempts: 3 }), tasks(1));
  // The token that one server created is valid at the other.
  const worker = await there.worker(batch, { name: 'w' });
  const near = await here.worker(batch);
  const [grant] = await worker.lease(1);
  const [other] = await near.lease(1);
  assert.notEqual(grant!.rollout, other!.rollout);
  const client = await here.client();
  client.subscribe('a', grant!.rollout);
  await client.frames.next('head');
  await worker.appendAcked(grant!, openingEvents(grant!));
  assert.deepEqual(
    (await client.eventsUntil('a', 2)).map((event) => event.seq),
    [1, 2],
  );

  // A command to one server reaches the worker at the other, and so does its response.
  const reply = here.api.commandRollout(grant!.rollout, { command: 'hold-it', verb: 'hold' });
  const control = await worker.frames.next('control');
  assert.deepEqual([control.verb, control.rollout], ['hold', grant!.rollout]);
  worker.send({ type: 'done', command: control.command, seq: 2 });
  assert.deepEqual(await reply, { seq: 2 });
  await here.api.commandBatch(batch, { command: 'pause-it', verb: 'pause' });
  assert.deepEqual(
    [(await worker.frames.next('control')).verb, (await near.frames.next('control')).verb],
    ['hold', 'hold'],
  );
  await here.api.commandBatch(batch, { command: 'resume-it', verb: 'resume' });

  // One server dies; its worker continues at the other, where its epoch is still valid.
  await there.kill('SIGKILL');
  const again = await here.worker(batch, {
    name: 'w',
    resume: worker.welcome.token,
    rollouts: [{ rollout: grant!.rollout, epoch: grant!.epoch, last: 2 }],
  });
  assert.deepEqual(again.welcome.keep, [{ rollout: grant!.rollout, durable: 2 }]);
  await again.appendAcked(grant!, endingEvents(3, { passed: true }));
  await near.finish(other!, { passed: true });
  const [last] = await near.lease(1);
  await near.finish(last!, { passed: false });
  await near.frames.next('granted', (frame) => frame.drained);
  const row = await here.api.batch(batch);
  assert.deepEqual([row.state, row.counts.passed, row.counts.failed], ['ended', 2, 1]);
});

test('what a client sends again is done once, also by another server', async () => {
  const url = await postgres.createDatabase();
  const here = await store.startOn(url);
  const there = await store.startOn(url);
  const submission = plainSubmission({ attempts: 2, env: { names: ['KEY'], shown: [] } });
  const batch = await here.submit(submission, tasks(1), { secrets: { KEY: 'only-one-server-has-it' } });
  const worker = await here.worker(batch);
  const [first] = await worker.lease(2);
  await worker.finish(first!, { passed: true });

  const { rollout } = first!;
  const commands: readonly Omit<BatchCommand, 'command'>[] = [
    { verb: 'pause' },
    { verb: 'resume' },
    { verb: 'note', args: { label: 'note', text: 'once' } },
    { verb: 'label', by: 'ada', args: { rollout, passed: false } },
    { verb: 'breakpoints', args: { breakpoints: [{ id: 'one', side: 'before', tool: 'renew' }] } },
    { verb: 'seal' },
  ];
  const ids = new Map(commands.map((command) => [newId('c'), command]));
  for (const [command, rest] of ids) {
    const request = { command, ...rest };
    // The answer was lost while the first server was still at it, and once more when it had finished.
    const [reply, ...again] = await Promise.all([here, there, here].map(({ api }) => api.commandBatch(batch, request)));
    assert.deepEqual([...again, await there.api.commandBatch(batch, request)], [reply, reply, reply], rest.verb);
  }
  const stream = await Array.fromAsync(here.api.allEvents(batch)).then((pages) => pages.flat());
  const controls = stream.flatMap(({ kind, data }) =>
    kind === 'control' ? [(data as { command: string }).command] : [],
  );
  assert.deepEqual(controls, [...ids.keys()], 'each is recorded once');
  assert.equal(stream.filter(({ kind }) => kind === 'note').length, 1);
  assert.equal(stream.filter(({ kind }) => kind === 'score').length, 1);
  await assert.rejects(
    there.api.commandBatch(batch, { command: [...ids.keys()][0]!, verb: 'cancel' }),
    (error) => StudioError.is(error, 'conflict'),
    'another command with its ID',
  );

  // A server takes long over a command, or dies with it: the other one waits for it, or finishes it.
  const third = await openStore(url, {});
  const command = newId('c');
  const stuck = Promise.withResolvers<undefined>();
  const holding = third.exclusively(`command ${command}`, () => stuck.promise);
  let isDone = false;
  const cancel = there.api.commandBatch(batch, { command, verb: 'cancel' }).then((reply) => {
    isDone = true;
    return reply;
  });
  await here.api.server();
  assert.equal(isDone, false);
  stuck.resolve(undefined);
  await holding;
  await third.close();
  const cancelled = await cancel;
  assert.deepEqual(await here.api.commandBatch(batch, { command, verb: 'cancel' }), cancelled);
  await worker.frames.next('control', ({ verb }) => verb === 'cancel');

  // A fork is a batch with the client's ID. Only the first server has the values of its parent.
  const fork = { batch: newId('b'), rollout, seq: 2, attempts: 1 };
  assert.equal((await here.api.fork(fork)).batch, fork.batch);
  assert.equal((await there.api.fork(fork)).batch, fork.batch);
  const forked = await there.api.batch(fork.batch);
  assert.deepEqual([forked.tasks, forked.attempts, forked.counts.queued], [1, 1, 1]);
  await assert.rejects(there.api.fork({ ...fork, seq: 3 }), (error) => StudioError.is(error, 'conflict'));
});
