/** The server's state for one connected worker. Durable state is in the store. */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ServerToWorker } from '../../protocol/worker.ts';
import type { WaitReason } from '../../trace/schema.ts';

/** Close codes: the session has ended, so the worker must reconnect; and a permanent refusal (policy violation). */
const SESSION_ENDED = 4001;
export const CLOSE_FOR_GOOD = 1008;

/** How much more than before a worker may call, so that its share can grow. */
const PEAK_MARGIN = 1.25;

/** Shortens a reason to what a close frame can carry. */
export function closeReason(why: string): string {
  return Buffer.from(why)
    .subarray(0, 120)
    .toString('utf8')
    .replace(/\uFFFD+$/, '');
}

/** What the events of a leased rollout may say about it. */
export interface HeldLease {
  readonly epoch: number;
  readonly task: string;
  readonly attempt: number;
  readonly try: number;
  /** What it scores again. */
  readonly rescores?: { readonly rollout: string; readonly seq: number };
}

export class WorkerSession {
  readonly id: string;
  readonly batch: string;
  /** Where the rollouts of the batch leave their parent, if it is a fork. */
  readonly fork: { readonly rollout: string; readonly seq: number } | undefined;
  readonly worker: string;
  /** The UID of its pod, if that gets a single rollout. */
  readonly pod: string | undefined;
  readonly slots: number;
  readonly #socket: WebSocket;
  readonly #transport: Duplex;
  #corked = false;
  /** Leased rollouts. The worker may append to these only. */
  readonly rollouts: Map<string, HeldLease> = new Map();
  /** Rollouts that it held and lost: it may not know that yet. */
  readonly lost: Set<string> = new Set();
  /** Rollouts that it has ended. */
  readonly ended: Set<string> = new Set();
  readonly held: Set<string> = new Set();
  /** Those of `held` that the pause of their batch holds, so that they continue when it is resumed. */
  readonly pausedWithBatch: Set<string> = new Set();
  /** The rollout that its pod got in this or an earlier session. There is no other one for it. */
  only: string | undefined;
  /** Whether it has to stop, and gets nothing more. */
  leaving = false;
  /** Number of rollouts it requested and did not get yet. */
  requested = 0;
  /** Whether its latest request was not answered yet. */
  unanswered = false;
  /** Time of that request. */
  requestedAt = 0;
  /** Appends that the store has not finished yet. */
  appending = 0;
  /** Further appends are ignored: the server is shutting down (the next one gets them), or refused the session. */
  draining = false;
  /** The last state sent to it: permits, replicas, announcements, and the state of its batch. */
  permits: Readonly<Record<string, number>> = {};
  waits: Readonly<Record<string, WaitReason>> = {};
  /** Most calls at once before each of the last two beats, if the worker reports it. */
  #peaks: readonly [number, number] | undefined;
  /** Rollouts granted since the last beat, and before it since the one before: each may call at once. */
  #grants: readonly [number, number] = [0, 0];
  replicas = '{}';
  announced = 0;
  paused: boolean;
  breakpoints: string;
  stopped = false;

  constructor(
    socket: WebSocket,
    transport: Duplex,
    id: string,
    about: Pick<WorkerSession, 'batch' | 'fork' | 'worker' | 'pod' | 'slots' | 'paused' | 'breakpoints'>,
  ) {
    this.#socket = socket;
    this.#transport = transport;
    this.id = id;
    this.batch = about.batch;
    this.fork = about.fork;
    this.worker = about.worker;
    this.pod = about.pod;
    this.slots = about.slots;
    this.paused = about.paused;
    this.breakpoints = about.breakpoints;
  }

  /** Number of running rollouts; held ones do not occupy slots. */
  get running(): number {
    return this.rollouts.size - this.held.size;
  }

  /** Returns the calls that it could make at once: those of the last beat and some more, if all run tools meanwhile. */
  get demand(): number {
    const { running } = this;
    if (this.#peaks === undefined) return running;
    const [since, before] = this.#grants;
    return Math.min(running, Math.ceil(Math.max(...this.#peaks) * PEAK_MARGIN) + 1 + since + before);
  }

  /** Notes the most calls at once since the last beat. */
  beat(peak: number | undefined): void {
    this.#peaks = peak === undefined ? undefined : [peak, this.#peaks?.[0] ?? peak];
    this.#grants = [0, this.#grants[0]];
  }

  /** Notes that it got a rollout. */
  granted(): void {
    this.#grants = [this.#grants[0] + 1, this.#grants[1]];
  }

  send(frame: ServerToWorker): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#cork();
    this.#socket.send(JSON.stringify(frame));
  }

  /** Batches writes: one commit acknowledges many appends, and their frames leave with one system call. */
  #cork(): void {
    if (this.#corked) return;
    this.#corked = true;
    this.#transport.cork();
    process.nextTick(() => {
      this.#corked = false;
      this.#transport.uncork();
    });
  }

  /** Whether it holds a rollout in this epoch. */
  holds(rollout: string, epoch: number): boolean {
    return this.rollouts.get(rollout)?.epoch === epoch;
  }

  /** Notes that a rollout is held. */
  holding(rollout: string, withBatch: boolean): void {
    this.held.add(rollout);
    if (withBatch) this.pausedWithBatch.add(rollout);
  }

  released(rollout: string): void {
    this.held.delete(rollout);
    this.pausedWithBatch.delete(rollout);
  }

  /** `how`: whether it has ended the rollout itself. */
  forget(rollout: string, how: 'lost' | 'ended'): void {
    this.rollouts.delete(rollout);
    this.released(rollout);
    this[how].add(rollout);
  }

  /** Tells the worker that it does not hold a rollout. */
  fence(rollout: string): void {
    const message = 'This worker does not hold the rollout.';
    this.send({ type: 'refuse', rollout, code: 'fenced', durable: 0, message });
  }

  /** Closes the connection for good. */
  refuse(why: string): void {
    this.draining = true;
    this.#socket.close(CLOSE_FOR_GOOD, closeReason(why));
  }

  /** Closes the connection of an expired session, so that the worker reconnects. */
  expire(): void {
    this.#socket.close(SESSION_ENDED, 'the session has ended');
  }
}
