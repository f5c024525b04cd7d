import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { Grant, WorkerFrame } from '../../../src/protocol/worker.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { checkEvent } from '../../../src/trace/schema.ts';
import { closingEvents } from '../../../src/worker/run/closing.ts';
import { EndpointReports } from '../../../src/worker/run/endpointReports.ts';
import { Slots } from '../../../src/worker/run/slots.ts';
import { makeWorkDirectory, removeWorkDirectory } from '../../../src/worker/run/workDirectory.ts';
import { ServerClock } from '../../../src/worker/session/serverClock.ts';

const never = new AbortController().signal;

describe('Slots', () => {
  it('prefers a rollout that continues to a new one', async () => {
    let freed = 0;
    const slots = new Slots(1, () => freed++);
    await slots.acquire(false, never);
    const order: string[] = [];
    const fresh = slots.acquire(false, never).then(() => order.push('new'));
    const again = slots.acquire(true, never).then(() => order.push('goes on'));
    assert.equal(slots.free, 0);
    slots.release();
    await again;
    slots.release();
    await fresh;
    assert.deepEqual(order, ['goes on', 'new']);
    assert.equal(freed, 0);
    slots.release();
    assert.deepEqual([freed, slots.free, slots.used], [1, 1, 0]);
  });

  it('forgets aborted waiters', async () => {
    const slots = new Slots(1, () => undefined);
    await slots.acquire(false, never);
    const abort = new AbortController();
    const waiting = slots.acquire(false, abort.signal);
    abort.abort();
    await assert.rejects(waiting, { code: 'cancelled' });
    slots.release();
    assert.equal(slots.free, 1);
  });
});

describe('makeWorkDirectory', () => {
  it('writes attachments, and none outside', async () => {
    const parent = await mkdtemp(path.join(tmpdir(), 'rs-work-'));
    try {
      const task = (name: string) => ({ id: 't', question: 'q', meta: {}, files: [{ name, sha: 'a', bytes: 2 }] });
      const directory = await makeWorkDirectory(parent, task('in/a.txt'), () => Promise.resolve(Buffer.from('hi')));
      assert.equal(await readFile(path.join(directory, 'in', 'a.txt'), 'utf8'), 'hi');
      for (const name of ['../x', '/etc/x', 'a/../../x', '.']) {
        await assert.rejects(
          makeWorkDirectory(parent, task(name), () => Promise.resolve(Buffer.from(''))),
          { code: 'config' },
          name,
        );
      }
      await removeWorkDirectory(directory);
      await assert.rejects(readFile(path.join(directory, 'in', 'a.txt')), { code: 'ENOENT' });
    } finally {
      await rm(parent, { recursive: true, force: true });
    }
  });
});

describe('EndpointReports', () => {
  it('count good answers, and report failures and recoveries immediately', async () => {
    const frames: WorkerFrame[] = [];
    const reports = new EndpointReports((frame) => frames.push(frame));
    for (let n = 0; n < 5; n++) reports.report({ endpoint: 'e', what: 'ok' });
    assert.equal(frames.length, 0);
    reports.report({ endpoint: 'e', what: 'busy', retry_after_ms: 10 });
    reports.report({ endpoint: 'e', what: 'ok' });
    assert.deepEqual(
      frames.map((frame) => frame.type === 'endpoint' && frame.what),
      ['busy', 'ok'],
    );
    await new Promise((resolve) => setTimeout(resolve, 130));
    assert.deepEqual(frames[2], { type: 'endpoint', endpoint: 'e', what: 'ok', count: 5 });
    reports.close();
  });
});

describe('ServerClock', () => {
  it('follows the server and never goes back', () => {
    const clock = new ServerClock();
    clock.welcome(5_000_000_000_000, 10);
    const before = clock.now();
    assert.ok(before >= 5_000_000_000_000 && before < 5_000_000_001_000);
    clock.welcome(4_000_000_000_000, 10);
    assert.ok(clock.now() >= before);
  });

  /** A machine whose clocks the test sets. */
  const machine = (ahead: number) => {
    const time = { server: 1_000_000, ms: 500 };
    const clock = new ServerClock(
      () => time.server + ahead,
      () => time.ms,
    );
    const pass = (ms: number): void => {
      time.server += ms;
      time.ms += ms;
    };
    return { clock, time, pass };
  };

  it('uses the fastest frame, and follows a server’s clock that is changed', () => {
    const { clock, time, pass } = machine(-3_600_000);
    const heard = (lateMs: number): void => {
      const said = time.server;
      pass(lateMs);
      clock.beat(said);
    };
    const said = time.server;
    pass(900);
    clock.welcome(said, 950);
    assert.equal(clock.now(), time.server - 900);
    heard(20);
    assert.equal(clock.now(), time.server - 20);
    heard(700);
    assert.equal(clock.now(), time.server - 20, 'a frame that was late says nothing new');
    time.server -= 5_000;
    const before = clock.now();
    for (let n = 0; n < 12; n++) {
      heard(20);
      assert.ok(clock.now() >= before, 'it stands, and does not go back');
    }
    pass(10_000);
    assert.equal(clock.now(), time.server - 20);
  });

  it('reports a wrong clock once, and never a late frame', () => {
    for (const ahead of [3_600_000, -3_600_000]) {
      const { clock, time } = machine(ahead);
      clock.welcome(time.server, 30);
      assert.deepEqual([clock.skew(), clock.skew()], [ahead, undefined]);
    }
    const { clock, time, pass } = machine(0);
    const said = time.server;
    pass(30_000);
    clock.welcome(said, 30_000);
    assert.equal(clock.skew(), undefined);
  });
});

describe('closingEvents', () => {
  const grant: Grant = {
    type: 'grant',
    rollout: 'r1',
    epoch: 3,
    batch: 'b1',
    submission: 's',
    task: { id: 't', question: 'q', meta: {} },
    attempt: 1,
    try: 2,
    lineage: [],
    last: 0,
    breakpoints: [],
    paused: false,
    held: false,
  };
  const clock = { now: () => 2_000 };

  it('writes a whole stream for a rollout that never began', () => {
    const events = closingEvents({ grant, worker: 'w', clock, durable: [], last: 0, message: 'no submission' });
    assert.deepEqual(
      events.map(({ seq, kind }) => [seq, kind]),
      [
        [1, 'rollout.start'],
        [2, 'rollout.lease'],
        [3, 'rollout.end'],
      ],
    );
    for (const event of events) assert.deepEqual(checkEvent(event), { ok: true });
  });

  it('ends a rollout that stored too much as truncated, by a limit', () => {
    const events = closingEvents({
      grant,
      worker: 'w',
      clock,
      durable: [],
      last: 0,
      message: 'too much',
      status: 'truncated',
    });
    const end = events.at(-1);
    assert.ok(end?.kind === 'rollout.end');
    assert.deepEqual(
      [end.data.status, end.data.error, end.data.passed],
      ['truncated', { class: 'limit', message: 'too much' }, null],
    );
  });

  it('adds up earlier records', () => {
    const durable: TraceEvent[] = [
      { seq: 1, v: 1, at: 1_000, kind: 'rollout.start', data: { batch: 'b1', task: 't', attempt: 1, try: 2 } },
      { seq: 2, v: 1, at: 1_000, kind: 'rollout.lease', data: { epoch: 3, worker: 'w', how: 'fresh' } },
      { seq: 3, v: 1, at: 1_100, kind: 'model.start', data: { step: 1, model: 'm', context: [], sampling: {} } },
      {
        seq: 4,
        v: 1,
        at: 1_200,
        kind: 'model.end',
        span: 3,
        data: { status: 'ok', trainable: false, source: 'live', usage: { input_tokens: 7, output_tokens: 2 } },
      },
    ];
    const [end, ...rest] = closingEvents({ grant, worker: 'w', clock, durable, last: 4, message: 'refused' });
    assert.equal(rest.length, 0);
    assert.ok(end?.kind === 'rollout.end');
    assert.deepEqual(
      [end.seq, end.data.status, end.data.totals.steps, end.data.totals.input_tokens, end.data.totals.ms],
      [5, 'infrastructure', 1, 7, 1000],
    );
  });
});
