/** Close code. */
const SESSION_ENDED = 4001;

/** The server's state for one connected worker. Durable state is in the store. */
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ServerToWorker } from '../../protocol/worker.ts';

export class WorkerSession {
  readonly id: string;
  readonly batch: string;
  readonly worker: string;
  readonly slots: number;
  readonly #socket: WebSocket;
  readonly #transport: Duplex;
  #corked = false;
  /** Leased rollouts, with their epochs. The worker may append to these only. */
  readonly rollouts: Map<string, number> = new Map();
  readonly held: Set<string> = new Set();
  /** Number of rollouts it requested and did not get yet. */
  requested = 0;
  /** Whether its latest request was not answered yet. */
  unanswered = false;
  /** Time of that request. */
  requestedAt = 0;
  /** Appends that the store has not finished yet. */
  appending = 0;
  /** The server is shutting down: further appends are ignored, and sent again to the next server. */
  draining = false;
  /** The last state sent to it: permits, replicas, and the state of its batch. */
  permits: Readonly<Record<string, number>> = {};
  replicas = '{}';
  paused: boolean;
  breakpoints: string;
  stopped = false;

  constructor(
    socket: WebSocket,
    transport: Duplex,
    id: string,
    about: { batch: string; worker: string; slots: number; paused: boolean; breakpoints: string },
  ) {
    this.#socket = socket;
    this.#transport = transport;
    this.id = id;
    this.batch = about.batch;
    this.worker = about.worker;
    this.slots = about.slots;
    this.paused = about.paused;
    this.breakpoints = about.breakpoints;
  }

  /** Number of running rollouts; held ones do not occupy slots. */
  get running(): number {
    return this.rollouts.size - this.held.size;
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

  forget(rollout: string): void {
    this.rollouts.delete(rollout);
    this.held.delete(rollout);
  }

  /** Closes the connection of an expired session, so that the worker reconnects. */
  expire(): void {
    this.#socket.close(SESSION_ENDED, 'the session has ended');
  }
}
