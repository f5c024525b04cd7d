/** A scripted worker: the other end of the protocol, without real rollouts. */
import { once } from 'node:events';
import WebSocket from 'ws';
import {
  type Grant,
  type ServerToWorker,
  serverToWorker,
  WORKER_PROTOCOL,
  type WorkerFrame,
} from '../../src/protocol/worker.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { startData } from '../../src/worker/run/startData.ts';
import { Frames } from './frames.ts';

interface FakeWorkerOptions {
  name?: string;
  slots?: number;
  rollouts?: { rollout: string; epoch: number; last: number }[];
  /** Why what its tools start has no sandbox. */
  noSandbox?: string;
  /** The UID of its pod. */
  pod?: string;
  /** The token of its previous session. */
  resume?: string;
  /** Its version of the protocol; the current one by default. */
  protocol?: number;
}

/** The names of the workers that hold a rollout, by rollout and epoch. */
const holders = new Map<string, string>();

export class FakeWorker {
  readonly frames: Frames<ServerToWorker>;
  readonly name: string;
  welcome!: Extract<ServerToWorker, { type: 'welcome' }>;

  private constructor(frames: Frames<ServerToWorker>, name: string) {
    this.frames = frames;
    this.name = name;
  }

  static async connect(url: string, token: string, options: FakeWorkerOptions = {}): Promise<FakeWorker> {
    const name = options.name ?? `fake-${Math.random().toString(36).slice(2)}`;
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/worker`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const frames = new Frames(socket, (raw) => {
      const frame = serverToWorker.parse(raw);
      if (frame.type === 'grant') holders.set(`${frame.rollout} ${frame.epoch}`, name);
      return frame;
    });
    const worker = new FakeWorker(frames, name);
    await once(socket, 'open');
    worker.send({
      type: 'hello',
      protocol: options.protocol ?? WORKER_PROTOCOL,
      worker: name,
      slots: options.slots ?? 8,
      rollouts: options.rollouts ?? [],
      ...(options.pod === undefined ? {} : { pod: options.pod }),
      ...(options.noSandbox === undefined ? {} : { no_sandbox: options.noSandbox }),
      ...(options.resume === undefined ? {} : { resume: options.resume }),
    });
    worker.welcome = await worker.frames.next('welcome');
    return worker;
  }

  send(frame: WorkerFrame): void {
    this.frames.send(frame);
  }

  /** Asks for rollouts and waits for as many grants. */
  async lease(want: number): Promise<Grant[]> {
    this.send({ type: 'lease', want });
    const grants: Grant[] = [];
    while (grants.length < want) grants.push(await this.frames.next('grant'));
    return grants;
  }

  /** Appends in one frame. Scoring begins before the first score or reward. */
  append(grant: { rollout: string; epoch: number }, events: readonly TraceEvent[]): void {
    const scored = events.findIndex(
      ({ kind, data }) => kind === 'score' || (kind === 'rollout.end' && 'reward' in data && data.reward !== null),
    );
    if (scored > 0) this.appendOnly(grant, events.slice(0, scored));
    if (scored >= 0) this.send({ type: 'scoring', rollout: grant.rollout, epoch: grant.epoch });
    this.appendOnly(grant, scored > 0 ? events.slice(scored) : events);
  }

  appendOnly(grant: { rollout: string; epoch: number }, events: readonly TraceEvent[]): void {
    this.send({
      type: 'append',
      rollout: grant.rollout,
      epoch: grant.epoch,
      from: events[0]!.seq,
      events: [...events],
    });
  }

  /** Appends and waits until everything is acknowledged. */
  async appendAcked(grant: { rollout: string; epoch: number }, events: readonly TraceEvent[]): Promise<void> {
    this.append(grant, events);
    const last = events.at(-1)!.seq;
    await this.frames.next('ack', (ack) => ack.rollout === grant.rollout && ack.to >= last);
  }

  /** Runs a granted rollout to its end. */
  async finish(
    grant: Grant,
    end: { passed: boolean; status?: 'done' | 'infrastructure' | 'cancelled'; output_tokens?: number },
  ): Promise<void> {
    await this.appendAcked(grant, [...openingEvents(grant), ...endingEvents(grant.last + 3, end)]);
  }

  close(): void {
    this.frames.socket.terminate();
  }
}

/** The first two events of a holder: seq last + 1 and last + 2. */
export function openingEvents(grant: Grant): TraceEvent[] {
  const at = Date.now();
  return [
    {
      seq: grant.last + 1,
      v: 1,
      at,
      kind: 'rollout.start',
      data: startData(grant),
    },
    {
      seq: grant.last + 2,
      v: 1,
      at,
      kind: 'rollout.lease',
      data: { epoch: grant.epoch, worker: holders.get(`${grant.rollout} ${grant.epoch}`) ?? 'fake', how: 'fresh' },
    },
  ];
}

/** Two events: a model's answer and the end. */
export function endingEvents(
  from: number,
  end: { passed: boolean; status?: 'done' | 'infrastructure' | 'cancelled'; output_tokens?: number },
): TraceEvent[] {
  const at = Date.now();
  const usage = { input_tokens: 10, output_tokens: end.output_tokens ?? 5 };
  const scored = (end.status ?? 'done') === 'done';
  return [
    { seq: from, v: 1, at, kind: 'model.start', data: { step: 1, model: 'demo', context: [], sampling: {} } },
    {
      seq: from + 1,
      v: 1,
      at,
      kind: 'model.end',
      span: from,
      data: { status: 'ok', usage, trainable: false, source: 'live' },
    },
    {
      seq: from + 2,
      v: 1,
      at,
      kind: 'rollout.end',
      data: {
        status: end.status ?? 'done',
        passed: scored ? end.passed : null,
        reward: scored ? Number(end.passed) : null,
        answer: 'x',
        touched: false,
        totals: { steps: 1, tool_calls: 0, ...usage, cached_tokens: 0, ms: 1, held_ms: 0 },
      },
    },
  ];
}

export function logEvent(seq: number, text: string): TraceEvent {
  return { seq, v: 1, at: Date.now(), kind: 'log', data: { stream: 'out', text } };
}
