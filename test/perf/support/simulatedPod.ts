/**
 * A worker pod without rollouts: it speaks the worker's protocol over a real WebSocket, leases as many attempts as it
 * has slots, writes the events of each at the pace of a model server, reports which calls its endpoint answered, and
 * requests the next attempt when one is durable.
 */
import { once } from 'node:events';
import WebSocket from 'ws';
import { BEAT_SECONDS, type Grant, PROTOCOL } from '../../../src/protocol/worker.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { Random } from '../../support/random.ts';
import { Stream } from '../../support/stream.ts';

export interface PodShape {
  readonly slots: number;
  readonly steps: number;
  /** Mean time of a step; each takes half to one and a half of it. */
  readonly stepMs: number;
  /** Whether its calls wait for permits, as those of workers do. */
  readonly permits?: boolean;
}

/** Measurements of all pods, in milliseconds. */
export class PodTimes {
  /** From the request for an attempt to its grant, separately for initial and later requests. */
  readonly first: number[] = [];
  readonly next: number[] = [];
  /** From an append to its acknowledgment. */
  readonly acks: number[] = [];
  settled = 0;
  events = 0;
  /** Model calls that ended. */
  calls = 0;
}

/** One attempt: the events of each turn. */
interface Running {
  readonly grant: Grant;
  readonly turns: TraceEvent[][];
  /** When each unacknowledged append was sent, by its last seq. */
  readonly sent: Map<number, number>;
}

type Frame =
  | Grant
  | { readonly type: 'welcome' }
  | { readonly type: 'ack'; readonly rollout: string; readonly to: number }
  | { readonly type: 'refuse'; readonly message: string }
  | { readonly type: 'beat'; readonly permits: Readonly<Record<string, number>> }
  | { readonly type: 'granted' | 'control' | 'scoring' };

export class SimulatedPod {
  readonly #socket: WebSocket;
  readonly #shape: PodShape;
  readonly #times: PodTimes;
  readonly #random: Random;
  readonly #running = new Map<string, Running>();
  /** When each pending attempt was requested. */
  readonly #requestedAt: number[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #failed: (error: Error) => void;
  /** As named by the first permits. */
  #endpoint: string | undefined;
  #granted = 0;
  /** With permits: how many calls it may run, those that run and wait, and the most of both since the last beat. */
  #limit = 0;
  #calling = 0;
  readonly #waiting: Running[] = [];
  #peak = 0;
  readonly #name: string;

  private constructor(
    socket: WebSocket,
    name: string,
    shape: PodShape,
    times: PodTimes,
    seed: number,
    failed: (error: Error) => void,
  ) {
    this.#socket = socket;
    this.#name = name;
    this.#shape = shape;
    this.#times = times;
    this.#random = new Random(seed);
    this.#failed = failed;
    socket.on('message', (data: Buffer) => this.#take(JSON.parse(data.toString()) as Frame));
    socket.on('error', failed);
  }

  /** `failed` is called with a refused append or a lost connection. */
  static async start(
    url: string,
    token: string,
    name: string,
    shape: PodShape,
    times: PodTimes,
    seed: number,
    failed: (error: Error) => void,
  ): Promise<SimulatedPod> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/worker`, {
      headers: { authorization: `Bearer ${token}` },
      perMessageDeflate: false,
    });
    const pod = new SimulatedPod(socket, name, shape, times, seed, failed);
    await once(socket, 'open');
    pod.#send({ type: 'hello', protocol: PROTOCOL, worker: name, slots: shape.slots, rollouts: [] });
    const beat = setInterval(() => pod.#beat(), BEAT_SECONDS * 1000);
    pod.#timers.add(beat);
    return pod;
  }

  #beat(): void {
    const waiting = this.#waiting.length;
    const peak = this.#shape.permits === true ? { peak: this.#peak } : {};
    this.#peak = this.#calling + waiting;
    this.#send({ type: 'beat', load: { running: this.#running.size, held: 0, waiting, rss: 0, ...peak } });
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#socket.removeAllListeners();
    this.#socket.on('error', () => undefined);
    this.#socket.terminate();
  }

  #take(frame: Frame): void {
    switch (frame.type) {
      case 'welcome':
        this.#request(this.#shape.slots);
        this.#beat();
        return;
      case 'grant':
        this.#begin(frame);
        return;
      case 'ack':
        this.#acked(frame);
        return;
      case 'refuse':
        this.#failed(new Error(frame.message));
        return;
      case 'beat':
        this.#endpoint ??= Object.keys(frame.permits)[0];
        this.#limit = frame.permits[this.#endpoint ?? ''] ?? 0;
        this.#call();
        return;
      default: // nothing to do
    }
  }

  #request(want: number): void {
    for (let count = 0; count < want; count++) this.#requestedAt.push(performance.now());
    this.#send({ type: 'lease', want });
  }

  #begin(grant: Grant): void {
    const waited = performance.now() - (this.#requestedAt.shift() ?? Number.NaN);
    (this.#granted++ < this.#shape.slots ? this.#times.first : this.#times.next).push(waited);
    const running = { grant, turns: turnsOf(grant, this.#name, this.#shape.steps), sent: new Map<number, number>() };
    this.#running.set(grant.rollout, running);
    this.#turn(running);
  }

  /** Writes the next turn; the last one writes the end. */
  #turn(running: Running): void {
    const events = running.turns.shift();
    if (events === undefined) return;
    const last = events.at(-1)?.seq ?? 0;
    running.sent.set(last, performance.now());
    this.#times.events += events.length;
    const { rollout, epoch } = running.grant;
    const append = (some: readonly TraceEvent[]): void =>
      this.#send({ type: 'append', rollout, epoch, from: some[0]?.seq, events: some });
    if (running.turns.length > 0) append(events);
    else {
      append(events.slice(0, -1));
      this.#send({ type: 'scoring', rollout, epoch });
      append(events.slice(-1));
    }
    if (this.#endpoint !== undefined && events.some(({ kind }) => kind === 'model.end'))
      this.#send({ type: 'endpoint', endpoint: this.#endpoint, what: 'ok', count: 1 });
    if (running.turns.length === 0) return;
    if (this.#shape.permits === true) {
      this.#waiting.push(running);
      this.#peak = Math.max(this.#peak, this.#calling + this.#waiting.length);
      this.#call();
    } else {
      this.#later(() => this.#turn(running));
    }
  }

  /** Begins the calls that it has permits for. */
  #call(): void {
    while (this.#calling < this.#limit) {
      const running = this.#waiting.shift();
      if (running === undefined) return;
      this.#calling += 1;
      this.#later(() => {
        this.#calling -= 1;
        this.#times.calls += 1;
        this.#turn(running);
        this.#call();
      });
    }
  }

  #later(next: () => void): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        next();
      },
      this.#shape.stepMs * (0.5 + this.#random.next()),
    );
    this.#timers.add(timer);
  }

  #acked({ rollout, to }: { readonly rollout: string; readonly to: number }): void {
    const running = this.#running.get(rollout);
    if (running === undefined) return;
    for (const [last, at] of running.sent) {
      if (last > to) continue;
      running.sent.delete(last);
      this.#times.acks.push(performance.now() - at);
    }
    if (running.turns.length > 0 || running.sent.size > 0) return;
    this.#running.delete(rollout);
    this.#times.settled += 1;
    this.#request(1);
  }

  #send(frame: unknown): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame));
  }
}

/** A rollout's events, one list for each moment at which a worker writes. */
function turnsOf(grant: Grant, worker: string, steps: number): TraceEvent[][] {
  const stream = new Stream();
  const turns: TraceEvent[][] = [];
  const cut = (): void => void turns.push(stream.events.slice(turns.flat().length));
  stream.start({ batch: grant.batch, task: grant.task.id, attempt: grant.attempt, try: grant.try });
  stream.add('rollout.lease', { epoch: grant.epoch, worker, how: 'fresh' });
  stream.message('system', 'You work at the lending desk of a public library.');
  stream.message('user', grant.task.question);
  cut();
  for (let step = 1; step <= steps; step++) {
    if (step === steps) stream.model('Done.');
    else {
      const id = `c${step}`;
      stream.model('', [{ id, name: 'find_member', arguments: { name: 'Mira Okafor' } }]);
      stream.toolEnd(stream.toolStart(id, 'find_member', { name: 'Mira Okafor' }), id, {
        id: 'M-1001',
        name: 'Mira Okafor',
        loans: ['L-3001', 'L-3002'],
      });
    }
    if (step < steps) cut();
  }
  stream.end();
  cut();
  return turns;
}
