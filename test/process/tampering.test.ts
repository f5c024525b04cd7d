/** Whoever has the token of a session cannot write what its worker never writes. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Grant } from '../../src/protocol/worker.ts';
import type { EventData, EventKind, TraceEvent } from '../../src/trace/schema.ts';
import { endingEvents, type FakeWorker, logEvent, openingEvents } from '../support/fakeWorker.ts';
import { plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';

function event<K extends EventKind>(seq: number, kind: K, data: EventData[K], span?: number): TraceEvent {
  // the signature ties data to kind
  return { seq, v: 1, at: Date.now(), kind, ...(span === undefined ? {} : { span }), data } as TraceEvent;
}

const modelStart = (seq: number): TraceEvent =>
  event(seq, 'model.start', { step: 1, model: 'demo', context: [], sampling: {} });
const modelEnd = (seq: number, span: number): TraceEvent =>
  event(seq, 'model.end', { status: 'ok', trainable: false, source: 'live' }, span);
const score = (seq: number, value = 1): TraceEvent =>
  event(seq, 'score', { scorer: 'exact', value, passed: value === 1 });
const end = (seq: number, over: Partial<EventData['rollout.end']> = {}): TraceEvent => {
  const [, , last] = endingEvents(seq - 2, { passed: true });
  return { ...last!, data: { ...last!.data, ...over } } as TraceEvent;
};

describe('tampering', () => {
  const store = new TestStore();
  let server: TestServer;
  before(async () => {
    server = await store.start();
  });
  after(() => store[Symbol.asyncDispose]());

  /** A worker that holds one rollout, with its first two events. */
  async function holder(): Promise<{ batch: string; worker: FakeWorker; grant: Grant }> {
    const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(1));
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    await worker.appendAcked(grant!, openingEvents(grant!));
    return { batch, worker, grant: grant! };
  }

  /** Checks that the session was ended, the reason is in the batch, and another worker gets the rollout. */
  async function assertReported(batch: string, worker: FakeWorker, rollout: string, what: RegExp): Promise<void> {
    const closed = await worker.frames.closed;
    assert.equal(closed.code, 1008);
    const other = await server.worker(batch);
    const [again] = await other.lease(1);
    assert.equal(again!.rollout, rollout);
    const infra = (await server.api.events(batch)).events.flatMap(({ kind, data }) =>
      kind === 'infra' && data.what === 'tampering' ? [data] : [],
    );
    assert.equal(infra.length, 1);
    assert.match(infra[0]!.text, what);
    assert.equal(infra[0]!.rollout, rollout);
  }

  const cases: Record<string, { send: (grant: Grant) => (TraceEvent[] | 'scoring')[]; what: RegExp }> = {
    'a score before scoring began': { send: () => [[score(3)]], what: /a score before scoring began/ },
    'a reward before scoring began': { send: () => [[end(3)]], what: /a reward before scoring began/ },
    'an action after scoring began': { send: () => ['scoring', [modelStart(3)]], what: /after scoring began/ },
    'a reward that differs from the score': {
      send: () => ['scoring', [score(3, 0)], [end(4)]],
      what: /differs from the score/,
    },
    'a second score': { send: () => ['scoring', [score(3, 0)], [score(4)]], what: /a second score/ },
    'the end of a span that never started': { send: () => [[modelEnd(3, 1)]], what: /a span that is not open/ },
    'the end of a span that has ended': {
      send: () => [[modelStart(3), modelEnd(4, 3)], [modelEnd(5, 3)]],
      what: /a span that is not open/,
    },
    'an event after the end': {
      send: () => ['scoring', [end(3)], [logEvent(4, 'late')]],
      what: /comes after the end/,
    },
    'another start': { send: (grant) => [[{ ...openingEvents(grant)[0]!, seq: 3 }]], what: /starts the rollout again/ },
    'the lease of another worker': {
      send: ({ epoch }) => [[event(3, 'rollout.lease', { epoch, worker: 'other', how: 'resumed' })]],
      what: /names worker other/,
    },
  };
  for (const [name, { send, what }] of Object.entries(cases)) {
    test(`${name} is refused and reported`, async () => {
      const { batch, worker, grant } = await holder();
      const { rollout, epoch } = grant;
      const steps = send(grant);
      for (const step of steps)
        if (step === 'scoring') worker.send({ type: 'scoring', rollout, epoch });
        else worker.appendOnly(grant, step);
      if (name === 'an event after the end') {
        await worker.frames.closed;
        const row = await server.api.rollout(rollout);
        assert.deepEqual([row.row.state, row.row.last], ['ended', 3]);
        const texts = (await server.api.events(batch)).events.flatMap(({ kind, data }) =>
          kind === 'infra' ? [data.text] : [],
        );
        assert.ok(texts.some((text) => what.test(text)));
        return;
      }
      await assertReported(batch, worker, rollout, what);
      const refused = steps.findLast((step) => step !== 'scoring')!;
      assert.equal((await server.api.rollout(rollout)).row.last, refused[0]!.seq - 1, 'it was not stored');
    });
  }

  test('a start that names another task, and events for rollouts of others, are refused and reported', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(2));
    const [worker, other] = [await server.worker(batch), await server.worker(batch)];
    const [grant] = await worker.lease(1);
    const [second] = await other.lease(1);
    const [start] = openingEvents(grant!);
    worker.append(grant!, [{ ...start!, data: { ...start!.data, task: second!.task.id } } as TraceEvent]);
    await assertReported(batch, worker, grant!.rollout, /names task t2/);
    const thief = await server.worker(batch);
    thief.append(second!, openingEvents(second!));
    assert.equal((await thief.frames.closed).code, 1008);
    await other.finish(second!, { passed: false });
    assert.equal((await server.api.rollout(second!.rollout)).row.progress.passed, false);
  });

  test('the expected answer is handed out to the holder when scoring begins, and not before', async () => {
    const { batch, worker, grant } = await holder();
    const { rollout, epoch } = grant;
    assert.equal('answer' in grant.task, false);
    const other = await server.worker(batch);
    other.send({ type: 'scoring', rollout, epoch });
    assert.equal((await other.frames.next('refuse')).code, 'fenced');
    worker.send({ type: 'scoring', rollout, epoch: epoch + 1 });
    assert.equal((await worker.frames.next('refuse')).code, 'fenced');
    worker.send({ type: 'scoring', rollout, epoch });
    assert.deepEqual(await worker.frames.next('scoring'), { type: 'scoring', rollout, epoch, answer: '1', meta: {} });
    // A new holder has its own epoch: its agent continues, and its scoring begins again.
    worker.send({ type: 'bye' });
    const [again] = await other.lease(1);
    const at = again!.last;
    await other.appendAcked(again!, [
      event(at + 1, 'rollout.lease', { epoch: again!.epoch, worker: other.name, how: 'resumed' }),
      modelStart(at + 2),
      modelEnd(at + 3, at + 2),
    ]);
    await other.appendAcked(again!, [score(at + 4), end(at + 5)]);
    assert.equal((await server.api.batch(batch)).counts.passed, 1);
  });

  test('a rollout that is cancelled while it waits for the answer is not refused', async () => {
    const { worker, grant } = await holder();
    const { rollout, epoch } = grant;
    worker.send({ type: 'scoring', rollout, epoch });
    worker.appendOnly(grant, [end(3, { status: 'cancelled', passed: null, reward: null })]);
    await worker.frames.next('ack', (ack) => ack.to === 3);
    assert.equal((await worker.frames.next('scoring')).answer, '1');
  });

  test('columns that only the scorer needs are handed out with the answer', async () => {
    const { agent } = plainSubmission();
    const meta = { city: 'Rome', steps: 'Add 1 and 0.', note: 'hard' };
    const batch = await server.submit(
      plainSubmission({ agent: { ...agent, prompt: { text: 'You work in {{task.meta.city}}.' } } }),
      tasks(1).map((task) => ({ ...task, meta })),
    );
    await server.api.commandBatch(batch, {
      command: 'set',
      verb: 'breakpoints',
      args: { breakpoints: [{ id: 'b', side: 'before', when: 'task.meta["note"] == "easy"' }] },
    });
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    const { rollout, epoch } = grant!;
    assert.deepEqual(grant!.task.meta, { city: 'Rome', note: 'hard' });
    await worker.appendAcked(grant!, openingEvents(grant!));
    worker.send({ type: 'scoring', rollout, epoch });
    assert.deepEqual((await worker.frames.next('scoring')).meta, meta);
  });

  test('a prompt that contains the answer gets it at the start', async () => {
    const { agent } = plainSubmission();
    const prompt = { text: 'Say {{task.answer}}.' };
    const batch = await server.submit(plainSubmission({ agent: { ...agent, prompt } }), tasks(1));
    const [grant] = await (await server.worker(batch)).lease(1);
    assert.equal(grant!.task.answer, '1');
  });
});
