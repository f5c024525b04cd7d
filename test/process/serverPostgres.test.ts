/** Two servers on one PostgreSQL: what one receives, the other's workers and clients see. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
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
