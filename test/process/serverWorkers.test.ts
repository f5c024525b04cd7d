/** Queue, sessions, leases, appends, and commands, over real sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { endingEvents, logEvent, openingEvents } from '../support/fakeWorker.ts';
import { plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';

describe('workers', () => {
  const store = new TestStore();
  let server: TestServer;
  before(async () => {
    server = await store.start();
  });
  after(() => store[Symbol.asyncDispose]());

  test('a batch lives from its submission to its end', async () => {
    const batch = await server.submit(plainSubmission(), tasks(3));
    const worker = await server.worker(batch);
    assert.deepEqual(
      [worker.welcome.beat_s, worker.welcome.lease_s, worker.welcome.keep, worker.welcome.drop],
      [5, 30, [], []],
    );
    const grants = await worker.lease(6);
    // Breadth first: every task gets its first attempt before any gets its second.
    assert.deepEqual(
      grants.map((grant) => `${grant.task.id}/${grant.attempt}`),
      ['t1/1', 't2/1', 't3/1', 't1/2', 't2/2', 't3/2'],
    );
    for (const [index, grant] of grants.entries()) await worker.finish(grant, { passed: index % 2 === 0 });
    worker.send({ type: 'lease', want: 1 });
    assert.equal((await worker.frames.next('granted', (frame) => frame.drained)).now, 0);
    const row = await server.api.batch(batch);
    assert.deepEqual([row.state, row.counts.passed, row.counts.failed, row.output_tokens], ['ended', 3, 3, 30]);
    const kinds = (await server.api.events(batch)).events.map((event) => event.kind);
    assert.deepEqual([kinds[0], kinds.at(-1)], ['batch.start', 'batch.end']);
    const page = await server.api.events(grants[0]!.rollout, { after: 1, limit: 2 });
    assert.deepEqual([page.events.map((event) => event.seq), page.last], [[2, 3], 5]);
    const upTo = await server.api.events(grants[0]!.rollout, { after: 1, until: 4, limit: 100 });
    assert.deepEqual([upTo.events.map((event) => event.seq), upTo.last], [[2, 3, 4], 5]);
  });

  test('the same submission is the same batch; a different one under its ID is a conflict', async () => {
    const submission = plainSubmission({ name: 'twice' });
    const batch = await server.submit(submission, tasks(2), { open: true });
    await server.submit(submission, tasks(2), { open: true, batch });
    await server.api.appendTasks(batch, 2, [{ id: 'more', question: '?', meta: {} }]);
    await server.api.appendTasks(batch, 2, [{ id: 'more', question: '?', meta: {} }]);
    await assert.rejects(server.api.appendTasks(batch, 9, tasks(1)), { code: 'conflict' });
    assert.equal((await server.api.batch(batch)).tasks, 3);
    assert.equal((await server.api.batch(batch)).state, 'open');
    await assert.rejects(server.submit(plainSubmission({ name: 'other' }), tasks(2), { batch }), { code: 'conflict' });
    await server.api.commandBatch(batch, { command: `seal-${batch}`, verb: 'seal' });
    await server.api.commandBatch(batch, { command: `seal-${batch}`, verb: 'seal' });
    assert.equal((await server.api.batch(batch)).state, 'running');
    const controls = (await server.api.events(batch)).events.filter((event) => event.kind === 'control');
    assert.equal(controls.length, 1);
    await server.api.commandBatch(batch, { command: `end-${batch}`, verb: 'cancel' });
  });

  test("repeats are acknowledged; gaps, invalid events, and events for others' rollouts are refused", async () => {
    const batch = await server.submit(plainSubmission({ attempts: 2 }), tasks(1));
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    const events = openingEvents(grant!);
    await worker.appendAcked(grant!, events);
    await worker.appendAcked(grant!, events);
    worker.append(grant!, [logEvent(9, 'too far')]);
    const gap = await worker.frames.next('refuse');
    assert.deepEqual([gap.code, gap.durable], ['gap', 2]);
    worker.send({
      type: 'append',
      rollout: grant!.rollout,
      epoch: grant!.epoch,
      from: 3,
      events: [{ seq: 3, v: 1, at: 1, kind: 'log', data: { stream: 'side', text: 'x' } }] as never,
    });
    const invalid = await worker.frames.next('refuse');
    assert.deepEqual([invalid.code, invalid.durable], ['invalid', 2]);
    assert.match(invalid.message, /Event 3 .*data\.stream/);
    // From another batch, whatever epoch it guesses.
    const stranger = await server.worker(await server.submit(plainSubmission(), tasks(1)));
    stranger.append(grant!, [logEvent(3, 'mine now')]);
    assert.equal((await stranger.frames.closed).code, 1008);
    assert.equal((await server.api.rollout(grant!.rollout)).row.last, 2);
    // Invalid frames end the connection.
    worker.frames.send('{"type":"append"}');
    assert.equal((await worker.frames.closed).code, 1008);
    await server.api.commandBatch(batch, { command: `end-${batch}`, verb: 'cancel' });
  });

  test('a reconnecting worker keeps its rollouts; another that took one over fences the first', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 2 }), tasks(1));
    const first = await server.worker(batch, { name: 'phoenix' });
    const [kept, lost] = await first.lease(2);
    await first.appendAcked(kept!, openingEvents(kept!));
    first.close();
    const again = await server.worker(batch, {
      name: 'phoenix',
      resume: first.welcome.token,
      rollouts: [
        { rollout: kept!.rollout, epoch: kept!.epoch, last: 2 },
        { rollout: 'r0', epoch: 1, last: 0 },
      ],
    });
    assert.deepEqual([again.welcome.keep, again.welcome.drop], [[{ rollout: kept!.rollout, durable: 2 }], ['r0']]);
    // Rollouts that it did not bring along go to the next worker immediately, one epoch later.
    const second = await server.worker(batch);
    const [taken] = await second.lease(1);
    assert.deepEqual([taken!.rollout, taken!.epoch], [lost!.rollout, lost!.epoch + 1]);
    // The same connection may still believe that it holds it.
    await again.appendAcked(kept!, endingEvents(3, { passed: true }));
    const old = await server.worker(batch, { rollouts: [{ rollout: taken!.rollout, epoch: lost!.epoch, last: 0 }] });
    assert.deepEqual(old.welcome.drop, [taken!.rollout]);
    old.append({ rollout: taken!.rollout, epoch: lost!.epoch }, openingEvents({ ...lost! }));
    assert.equal((await old.frames.next('refuse')).code, 'fenced');
    second.send({ type: 'bye' });
    await second.frames.closed;
    const [third] = await again.lease(1);
    assert.equal(third!.epoch, taken!.epoch + 1);
    await again.finish(third!, { passed: false });
    const infra = (await server.api.events(batch)).events.filter((event) => event.kind === 'infra');
    assert.equal(infra.length, 2);
  });

  test('later work is pushed; a number caps what runs at once', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 1, concurrency: 2 }), tasks(1), { open: true });
    const worker = await server.worker(batch);
    worker.send({ type: 'lease', want: 5 });
    const grant = await worker.frames.next('grant');
    assert.deepEqual(await worker.frames.next('granted'), { type: 'granted', now: 1, drained: false });
    await server.api.appendTasks(batch, 1, tasks(4).slice(1));
    const second = await worker.frames.next('grant');
    await worker.finish(grant, { passed: true });
    const third = await worker.frames.next('grant');
    assert.deepEqual([second.task.id, third.task.id], ['t2', 't3']);
    assert.equal((await server.api.batch(batch)).counts.running, 2);
    await server.api.commandBatch(batch, { command: `end-${batch}`, verb: 'cancel' });
  });

  test('pause and breakpoints reach workers, cancel ends queued and running rollouts', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 3 }), tasks(1));
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    await worker.appendAcked(grant!, openingEvents(grant!));
    await server.api.commandBatch(batch, { command: `p-${batch}`, verb: 'pause', by: 'me' });
    assert.equal((await worker.frames.next('control')).verb, 'hold');
    worker.send({ type: 'lease', want: 1 });
    assert.equal((await worker.frames.next('granted')).now, 0);
    await server.api.commandBatch(batch, {
      command: `b-${batch}`,
      verb: 'breakpoints',
      args: { breakpoints: [{ id: 'one', side: 'before', tool: 'renew' }] },
    });
    assert.equal((await worker.frames.next('control')).verb, 'breakpoints');
    await server.api.commandBatch(batch, { command: `r-${batch}`, verb: 'resume' });
    assert.equal((await worker.frames.next('control')).verb, 'release');
    assert.deepEqual((await worker.frames.next('grant')).breakpoints, [{ id: 'one', side: 'before', tool: 'renew' }]);
    worker.send({ type: 'claim', claim: 'k', breakpoint: 'one', rollout: grant!.rollout, epoch: grant!.epoch });
    assert.equal((await worker.frames.next('claimed')).yes, true);

    const reply = await server.api.commandBatch(batch, {
      command: `x-${batch}`,
      verb: 'cancel',
      args: { reason: 'enough' },
    });
    assert.equal(reply.changed, 3); // two that were queued, and the one that runs
    assert.deepEqual(
      [await worker.frames.next('control').then(({ verb, args }) => [verb, args])],
      [['cancel', { reason: 'enough' }]],
    );
    await worker.appendAcked(grant!, endingEvents(3, { passed: false, status: 'cancelled' }));
    const row = await server.api.batch(batch);
    assert.deepEqual([row.counts.cancelled, row.counts.running], [2, 1]);
  });

  test('a command to a rollout waits for its worker, and its repeat returns immediately', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 2 }), tasks(1));
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    await worker.appendAcked(grant!, openingEvents(grant!));
    const { rollout } = grant!;
    await assert.rejects(server.api.commandRollout(rollout, { command: 'early', verb: 'hold', expect: { seq: 1 } }), {
      code: 'conflict',
      details: { head: 2 },
    });
    const reply = server.api.commandRollout(rollout, { command: `h-${rollout}`, verb: 'hold', expect: { seq: 2 } });
    const control = await worker.frames.next('control');
    assert.deepEqual([control.command, control.verb, control.rollout], [`h-${rollout}`, 'hold', rollout]);
    await worker.appendAcked(grant!, [
      { seq: 3, v: 1, at: Date.now(), kind: 'hold', data: { why: 'step', side: 'before' } },
    ]);
    worker.send({ type: 'done', command: control.command, seq: 3 });
    assert.deepEqual(await reply, { seq: 3 });
    assert.deepEqual(
      await server.api.commandRollout(rollout, { command: `h-${rollout}`, verb: 'hold', expect: { seq: 2 } }),
      { seq: 3 },
    );
    assert.equal((await server.api.rollout(rollout)).row.state, 'held');

    // The worker's refusal is the command's response.
    const skip = server.api.commandRollout(rollout, { command: `s-${rollout}`, verb: 'skip', args: { result: 1 } });
    worker.send({
      type: 'done',
      command: (await worker.frames.next('control')).command,
      error: { code: 'conflict', message: 'There is no tool call at this gate.' },
    });
    await assert.rejects(skip, { code: 'conflict', message: 'There is no tool call at this gate.' });

    // A rollout that nobody holds: its row is cancelled, and it cannot be edited.
    const queued = (await server.api.rollouts(batch)).rollouts.find((row) => row.state === 'queued')!;
    await assert.rejects(
      server.api.commandRollout(queued.rollout, {
        command: 'e',
        verb: 'edit',
        args: { of: { m: 1 }, path: '', value: 1 },
      }),
      { code: 'conflict', hint: 'Fork it instead.' },
    );
    await server.api.commandRollout(queued.rollout, { command: `hq-${rollout}`, verb: 'hold' });
    const [second] = await worker.lease(1);
    const pending = await worker.frames.next('control');
    assert.deepEqual([pending.rollout, pending.verb], [second!.rollout, 'hold']);

    const ended = server.api.commandRollout(rollout, { command: `c-${rollout}`, verb: 'cancel' });
    assert.equal((await worker.frames.next('control')).verb, 'cancel');
    await worker.appendAcked(grant!, endingEvents(4, { passed: false, status: 'cancelled' }));
    assert.match((await ended).text ?? '', /ended/);
    await assert.rejects(server.api.commandRollout(rollout, { command: 'late', verb: 'hold' }), { code: 'conflict' });
    await server.api.commandBatch(batch, { command: `end-${batch}`, verb: 'cancel' });
  });

  test('stop rules end a task, and a batch', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 4, stop: { passes_per_task: 1 } }), tasks(2));
    const worker = await server.worker(batch);
    const [first, other, again] = await worker.lease(3);
    await worker.finish(first!, { passed: true });
    const control = await worker.frames.next('control');
    assert.deepEqual([control.verb, control.rollout], ['cancel', again!.rollout]);
    await worker.appendAcked(again!, [
      ...openingEvents(again!),
      ...endingEvents(3, { passed: false, status: 'cancelled' }),
    ]);
    const rows = (await server.api.rollouts(batch, { task: 't1' })).rollouts;
    assert.deepEqual(
      rows.map((row) => row.progress.status),
      ['done', 'cancelled', 'cancelled', 'cancelled'],
    );
    await worker.finish(other!, { passed: true });
    await worker.frames.next('granted', (frame) => frame.drained);
    assert.equal((await server.api.batch(batch)).state, 'ended');

    const dear = await server.submit(plainSubmission({ attempts: 3, stop: { tokens: 100 } }), tasks(1));
    const spender = await server.worker(dear);
    const [one] = await spender.lease(1);
    await spender.finish(one!, { passed: false, output_tokens: 200 });
    await spender.frames.next('granted', (frame) => frame.drained);
    const row = await server.api.batch(dear);
    assert.deepEqual([row.state, row.counts.cancelled], ['ended', 2]);
    assert.match(row.reason ?? '', /stop\.tokens: 210 tokens/);
  });

  test('an endpoint that refuses the first call stops the batch with one message', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 3 }), tasks(2));
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    const report = {
      type: 'endpoint',
      endpoint: 'http://127.0.0.1:9/v1',
      what: 'denied',
      text: 'The endpoint does not accept the key (401).',
    } as const;
    worker.send(report);
    worker.send(report);
    assert.equal((await worker.frames.next('control')).verb, 'cancel');
    // The running one ended with the others: its worker has nothing more to say about it.
    worker.append(grant!, openingEvents(grant!));
    assert.equal((await worker.frames.next('refuse')).code, 'fenced');
    await worker.frames.next('granted', (frame) => frame.drained);
    const row = await server.api.batch(batch);
    assert.deepEqual(
      [row.state, row.reason, row.counts.infrastructure],
      ['ended', 'The endpoint does not accept the key (401).', 6],
    );
    assert.equal((await server.api.events(batch)).events.filter((event) => event.kind === 'infra').length, 1);
  });

  test("permits follow workers' reports about an endpoint", async () => {
    const endpoint = 'http://127.0.0.1:10/v1';
    const plain = plainSubmission();
    const agent = { ...plain.agent, model: { ...plain.agent.model, endpoints: [endpoint] } };
    const batch = await server.submit(plainSubmission({ attempts: 10, concurrency: 'auto', agent }), tasks(1));
    const worker = await server.worker(batch);
    await worker.lease(2);
    worker.send({ type: 'beat', load: { running: 2, held: 0, waiting: 0, rss: 1 } });
    const beat = await worker.frames.next('beat', (frame) => (frame.permits[endpoint] ?? 0) > 0);
    assert.ok(Math.abs(beat.clock - Date.now()) < 5_000);
    worker.send({ type: 'endpoint', endpoint, what: 'down', text: 'connect ECONNREFUSED' });
    // Pushed immediately, then one probe at a time, then all again.
    await worker.frames.next('beat', (frame) => frame.permits[endpoint] === 0);
    const info = (await server.api.server()).endpoints.find((one) => one.endpoint === endpoint)!;
    assert.deepEqual([info.state, info.text], ['down', 'connect ECONNREFUSED']);
    await worker.frames.next('beat', (frame) => frame.permits[endpoint] === 1);
    worker.send({ type: 'endpoint', endpoint, what: 'ok' });
    await worker.frames.next('beat', (frame) => (frame.permits[endpoint] ?? 0) > 1);
    await server.api.commandBatch(batch, { command: `end-${batch}`, verb: 'cancel' });
  });

  test('later refusals do not stop a batch whose calls were answered', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 2 }), tasks(1));
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    const endpoint = 'http://127.0.0.1:9/v1';
    worker.send({ type: 'endpoint', endpoint, what: 'ok', count: 3 });
    worker.send({ type: 'endpoint', endpoint, what: 'missing', text: 'no such model' });
    await worker.finish(grant!, { passed: true });
    const [next] = await worker.lease(1);
    await worker.finish(next!, { passed: true });
    await worker.frames.next('granted', (frame) => frame.drained);
    assert.equal((await server.api.batch(batch)).counts.passed, 2);
  });

  test('retry queues unsettled attempts, and needs the secrets again after the batch ended', async () => {
    const batch = await server.submit(
      plainSubmission({ attempts: 2, retry: { infrastructure: 0 }, env: { names: ['KEY'], shown: [] } }),
      tasks(1),
      { secrets: { KEY: 'first' } },
    );
    const worker = await server.worker(batch);
    const [good, bad] = await worker.lease(2);
    await worker.finish(good!, { passed: false });
    await worker.finish(bad!, { passed: false, status: 'infrastructure' });
    await worker.frames.next('granted', (frame) => frame.drained);
    const retry = (command: string, args = {}) =>
      server.api.commandBatch(batch, { command: `${command}-${batch}`, verb: 'retry', args });
    await assert.rejects(retry('bare'), { code: 'config', details: { missing: ['KEY'] } });
    assert.deepEqual(await retry('full', { secrets: { KEY: 'second' } }), { changed: 1 });
    const [again] = await worker.lease(1);
    assert.deepEqual([again!.attempt, again!.try], [bad!.attempt, 2]);
    const secrets = readFileSync(path.join(store.folder, 'secrets', `${batch}.json`), 'utf8');
    assert.deepEqual(JSON.parse(secrets), { KEY: 'second' });
    await worker.finish(again!, { passed: true });
    await worker.frames.next('granted', (frame) => frame.drained);
    const row = await server.api.batch(batch);
    assert.deepEqual([row.state, row.counts.failed, row.counts.passed], ['ended', 1, 1]);
    assert.ok(!JSON.stringify(await server.api.events(batch)).includes('second'));
  });

  test('the end of a batch is posted to a URL, with retries', async () => {
    const bodies: string[] = [];
    const heard = Promise.withResolvers<undefined>();
    const listener = http
      .createServer((request, response) => {
        void text(request).then((body) => {
          bodies.push(body);
          response.writeHead(bodies.length === 1 ? 503 : 204).end();
          if (bodies.length === 2) heard.resolve(undefined);
        });
      })
      .listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const batch = await server.submit(
      plainSubmission({
        attempts: 1,
        notify: { url: 'http://127.0.0.1:${env:PORT}/done' },
        env: { names: ['PORT'], shown: ['PORT'] },
      }),
      tasks(1),
      { secrets: { PORT: String(port) } },
    );
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    await worker.finish(grant!, { passed: true });
    await heard.promise;
    listener.close();
    const [first, second] = bodies.map(
      (body) => JSON.parse(body) as { type: string; batch: string; counts: { passed: number } },
    );
    assert.deepEqual([first!.type, first!.batch, first!.counts.passed], ['batch.end', batch, 1]);
    assert.deepEqual(first, second);
  });
});
