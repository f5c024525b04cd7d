import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { canonicalJson, isJsonObject, type Json } from '../../../src/common/json.ts';
import { submissionSha } from '../../../src/config/submission.ts';
import { Announcements } from '../../../src/model/announcements.ts';
import { ModelConnections } from '../../../src/model/connections.ts';
import { PermitGate } from '../../../src/model/permits.ts';
import { Replicas } from '../../../src/model/replicas.ts';
import type { Grant, ServerToWorker, WorkerFrame } from '../../../src/protocol/worker.ts';
import type { RolloutJob, RolloutPorts } from '../../../src/rollout/job.ts';
import { createToolPools } from '../../../src/tools/pools.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { Outlet } from '../../../src/worker/outlet.ts';
import { Claims } from '../../../src/worker/run/claims.ts';
import { EndpointCalls } from '../../../src/worker/run/endpointCalls.ts';
import type { RolloutHandle, WorkerParts } from '../../../src/worker/run/parts.ts';
import { RolloutPool } from '../../../src/worker/run/pool.ts';
import { Scorings } from '../../../src/worker/run/scorings.ts';
import { Slots } from '../../../src/worker/run/slots.ts';
import { Submissions } from '../../../src/worker/run/submissions.ts';
import { Blobs } from '../../../src/worker/spool/blobs.ts';
import { Flusher } from '../../../src/worker/spool/flusher.ts';
import { plainSubmission } from '../../support/rolloutServer.ts';

const submission = plainSubmission();
const sha = submissionSha(submission);
const folder = await mkdtemp(path.join(tmpdir(), 'rs-held-'));
after(() => rm(folder, { recursive: true, force: true }));

type Answer = (append: Extract<WorkerFrame, { type: 'append' }>) => ServerToWorker;

interface Bench {
  readonly pool: RolloutPool;
  readonly frames: WorkerFrame[];
  readonly appended: () => TraceEvent[];
  readonly drained: Promise<void>;
  readonly aborts: string[];
  /** Rollouts that were told to leave. */
  readonly left: string[];
  /** Arguments of the commands that reached a rollout. */
  readonly commands: Json[];
}

/** A pool whose server is a function, and whose rollouts are `run`. */
function bench(
  run: (job: RolloutJob, ports: RolloutPorts, aborted: Promise<string>) => Promise<void>,
  answer: Answer,
  { slots = 2, inspectable = true, rollouts = Infinity, busy = new Set<string>() } = {},
): Bench {
  const frames: WorkerFrame[] = [];
  const aborts: string[] = [];
  const commands: Json[] = [];
  const left: string[] = [];
  const drained = Promise.withResolvers<undefined>();
  const send = (frame: WorkerFrame): boolean => {
    frames.push(frame);
    if (frame.type === 'append') queueMicrotask(() => pool.frame(answer(frame) as never));
    return true;
  };
  const flusher = new Flusher();
  const pools = createToolPools({
    directory: folder,
    work: folder,
    env: {},
    processGroups: { owner: 'test', add: () => undefined, remove: () => undefined },
  });
  const blobs = new Blobs(
    {
      getBlob: (name) =>
        name === sha
          ? Promise.resolve(Buffer.from(canonicalJson(submission)))
          : Promise.reject(new Error(`no blob ${name}`)),
      putBlob: () => Promise.resolve(),
    },
    new AbortController().signal,
  );
  const outlet = new Outlet({});
  const gate = new PermitGate();
  const replicas = new Replicas();
  const announcements = new Announcements(replicas);
  const parts: WorkerParts = {
    worker: 'w',
    work: folder,
    shared: false,
    clock: { now: () => 5 },
    blobs,
    pools,
    submissions: new Submissions({
      readBlob: (name) => blobs.read(name, new AbortController().signal),
      secrets: {},
      outlet,
      models: () => ({}),
    }),
    events: () => Promise.resolve([]),
    outlet,
    link: { sendText: (text) => send(JSON.parse(text) as WorkerFrame), soon: flusher.soon },
    slots: new Slots(slots, () => pool.requestMore()),
    claims: new Claims(send),
    scorings: new Scorings(send),
    holdPermits: { acquire: () => true, release: () => undefined },
    gate,
    announcements,
    calls: new EndpointCalls({
      gate: () => gate,
      announcements,
      send: () => true,
    }),
    replicas,
    connections: new ModelConnections(),
    report: () => undefined,
    giveBack: (rollout, epoch) => void send({ type: 'handover', rollout, epoch }),
    demoUrl: () => '',
    demoKey: () => '',
    createRollout: (job, ports): RolloutHandle => {
      const aborted = Promise.withResolvers<string>();
      return {
        run: () => run(job, ports, aborted.promise),
        command: ({ args }) => {
          commands.push(args ?? null);
          return Promise.resolve({
            seq: 9,
            ...(isJsonObject(args) && args['inspect'] === true ? { inspector: 'ws://127.0.0.1:1/x' } : {}),
          });
        },
        setBreakpoints: () => undefined,
        setLost: () => undefined,
        abort: (reason) => {
          aborts.push(reason);
          aborted.resolve(reason);
        },
        leave: () => {
          left.push(job.rollout);
          if (!busy.has(job.rollout)) aborted.resolve('left');
          return Promise.resolve();
        },
        handOver: () => aborted.resolve('handed over'),
      };
    },
    inspectable,
    hidden: [],
    log: () => undefined,
  };
  const pool: RolloutPool = new RolloutPool({
    parts,
    send,
    onDrained: () => drained.resolve(undefined),
    onDrain: () => undefined,
    rollouts,
  });
  return {
    pool,
    frames,
    aborts,
    commands,
    left,
    drained: drained.promise.then(() => undefined),
    appended: () => frames.flatMap((frame) => (frame.type === 'append' ? frame.events : [])),
  };
}

function grant(changes: Partial<Grant> = {}): Grant {
  return {
    type: 'grant',
    rollout: 'r1',
    epoch: 1,
    batch: 'b1',
    submission: sha,
    task: { id: 't', question: 'q', meta: {} },
    attempt: 1,
    try: 1,
    lineage: [],
    last: 0,
    breakpoints: [],
    paused: false,
    held: false,
    ...changes,
  };
}

const ack: Answer = (frame) => ({ type: 'ack', rollout: frame.rollout, to: frame.events.at(-1)!.seq });
const log = (seq: number): TraceEvent => ({ seq, v: 1, at: 1, kind: 'log', data: { stream: 'out', text: 'x' } });

describe('RolloutPool', () => {
  it('requests as many as are free, runs them, requests more, and is drained when the server says so', async () => {
    const { pool, frames, appended, drained } = bench((_, ports) => {
      ports.recorder.append([log(1)], []);
      return Promise.resolve();
    }, ack);
    pool.requestMore();
    assert.deepEqual(frames, [{ type: 'lease', want: 2 }]);
    pool.frame(grant());
    while (frames.filter((frame) => frame.type === 'lease').length < 2)
      await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(frames.filter((frame) => frame.type === 'lease').at(-1), { type: 'lease', want: 1 });
    assert.ok(existsSync(folder));
    pool.frame({ type: 'granted', now: 0, drained: true });
    await drained;
    assert.deepEqual(
      appended().map((event) => event.seq),
      [1],
    );
    assert.equal(existsSync(path.join(folder, 'r1')), false);
  });

  it('takes no more rollouts than its limit, and has nothing to do after the last', async () => {
    const { pool, frames, drained } = bench(
      (_, ports) => {
        ports.recorder.append([log(1)], []);
        return Promise.resolve();
      },
      ack,
      { rollouts: 1 },
    );
    pool.requestMore();
    pool.frame(grant());
    pool.frame({ type: 'granted', now: 1, drained: false });
    await drained;
    pool.requestMore();
    assert.deepEqual(
      frames.filter((frame) => frame.type === 'lease'),
      [{ type: 'lease', want: 1 }],
    );
  });

  it("ends a rollout whose event the server rejects, with the server's message", async () => {
    let refusals = 0;
    const { pool, appended, drained, aborts } = bench(
      async (_, ports, aborted) => {
        ports.recorder.append([log(1), log(2)], []);
        await aborted;
      },
      (frame) =>
        refusals++ === 0
          ? { type: 'refuse', rollout: 'r1', code: 'invalid', durable: 0, message: 'data.text: too odd' }
          : ack(frame),
    );
    pool.frame(grant());
    pool.frame({ type: 'granted', now: 0, drained: true });
    await drained;
    assert.deepEqual(aborts, ['data.text: too odd']);
    const end = appended().at(-1);
    assert.ok(end?.kind === 'rollout.end' && end.data.status === 'infrastructure');
    assert.match(end.data.error?.message ?? '', /too odd/);
    assert.equal(end.seq, 3, 'behind start and lease, at the place of what was refused');
  });

  it('lets a debugger into the code of a call only if the store is on the same machine', async () => {
    for (const inspectable of [true, false]) {
      const { pool, frames, commands } = bench((_, _ports, aborted) => aborted.then(() => undefined), ack, {
        inspectable,
      });
      pool.frame(grant());
      pool.frame({ type: 'control', command: 'k1', rollout: 'r1', verb: 'step', args: { inspect: true }, by: 'ann' });
      while (!frames.some((frame) => frame.type === 'done')) await new Promise((resolve) => setTimeout(resolve, 5));
      assert.deepEqual(commands, [inspectable ? { inspect: true } : {}]);
      assert.deepEqual(
        frames.find((frame) => frame.type === 'done'),
        { type: 'done', command: 'k1', seq: 9, ...(inspectable ? { inspector: 'ws://127.0.0.1:1/x' } : {}) },
      );
      await pool.close('over', false);
    }
  });

  it('drops a rollout that another worker holds', async () => {
    const { pool, aborts, appended, drained } = bench(
      async (_, ports, aborted) => {
        ports.recorder.append([log(1)], []);
        await aborted;
      },
      () => ({ type: 'refuse', rollout: 'r1', code: 'fenced', durable: 0, message: 'epoch 2 has it' }),
    );
    pool.frame(grant());
    pool.frame({ type: 'granted', now: 0, drained: true });
    await drained;
    assert.deepEqual(aborts, ['epoch 2 has it']);
    assert.equal(appended().length, 1);
  });

  it('drops what the server names after a reconnection, and continues with the rest', async () => {
    const { pool, aborts, drained, appended } = bench(async (job, ports, aborted) => {
      ports.recorder.append([log(1)], []);
      if (job.rollout === 'r1') await aborted;
    }, ack);
    pool.frame(grant());
    pool.frame(grant({ rollout: 'r2' }));
    while (appended().length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    pool.welcome({
      type: 'welcome',
      announced: { rev: 0, endpoints: [] },
      session: 's2',
      token: 't',
      clock: 1,
      beat_s: 5,
      lease_s: 30,
      keep: [],
      drop: ['r1'],
    });
    pool.frame({ type: 'granted', now: 0, drained: true });
    await drained;
    assert.equal(aborts.length, 1);
  });

  it('hands every rollout over when it has to leave: each when it can, the rest when the time is over', async () => {
    const { pool, frames, left, appended } = bench(
      async (_, ports, aborted) => {
        ports.recorder.append([log(1)], []);
        await aborted;
      },
      ack,
      { slots: 3, busy: new Set(['r2']) },
    );
    pool.frame(grant());
    pool.frame(grant({ rollout: 'r2' }));
    while (appended().length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    frames.length = 0;
    const leaving = pool.leave(200);
    // It was on its way, and nothing of it has happened.
    pool.frame(grant({ rollout: 'r3', epoch: 7 }));
    pool.requestMore();
    await leaving;
    await pool.close('over', true);
    assert.deepEqual(left, ['r1', 'r2']);
    assert.deepEqual(frames[0], { type: 'leaving' });
    const back = frames.flatMap((frame) => (frame.type === 'handover' ? [`${frame.rollout} ${frame.epoch}`] : []));
    assert.deepEqual(back.toSorted(), ['r1 1', 'r2 1', 'r3 7']);
    assert.equal(back.at(-1), 'r2 1', 'the busy one is the last');
    assert.equal(frames.filter(({ type }) => type === 'lease').length, 0);
  });

  it('ends a rollout that breaks before its first event', async () => {
    const { pool, appended, drained } = bench(() => Promise.reject(new Error('the record is unreadable')), ack);
    pool.frame(grant({ epoch: 4 }));
    pool.frame({ type: 'granted', now: 0, drained: true });
    await drained;
    assert.deepEqual(
      appended().map((event) => event.kind),
      ['rollout.start', 'rollout.lease', 'rollout.end'],
    );
  });

  it('answers commands, also after a lost connection, and reports unknown rollouts', async () => {
    const { pool, frames } = bench((_, __, aborted) => aborted.then(() => undefined), ack);
    pool.frame(grant());
    pool.frame({ type: 'control', command: 'c1', rollout: 'r1', verb: 'hold', args: {}, by: 'me' });
    pool.frame({ type: 'control', command: 'c2', rollout: 'r9', verb: 'hold', args: {}, by: 'me' });
    pool.frame({ type: 'control', command: 'c3', verb: 'breakpoints', args: { breakpoints: 'no' }, by: 'me' });
    const done = (): WorkerFrame[] => frames.filter((frame) => frame.type === 'done');
    while (done().length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    const byCommand = new Map(done().map((frame) => [frame.type === 'done' ? frame.command : '', frame]));
    assert.deepEqual(byCommand.get('c1'), { type: 'done', command: 'c1', seq: 9 });
    assert.match(JSON.stringify(byCommand.get('c2')), /not_found/);
    assert.match(JSON.stringify(byCommand.get('c3')), /usage/);
    await pool.close('over', false);
  });
});
