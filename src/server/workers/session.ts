/** Close code. */
const SESSION_ENDED = 4001;

/** What the server knows of one connected worker's session. What must survive is in the store. */
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
  /** Rollouts it was given, by epoch. It may append to no others. */
  readonly rollouts: Map<string, number> = new Map();
  readonly held: Set<string> = new Set();
  /** Rollouts it asked for and did not get yet. */
  wanted = 0;
  /** It asked, and was not told how many it gets now. */
  unanswered = false;
  /** When it asked for that. */
  askedAt = 0;
  /** Appends of it that the store has and did not answer. */
  appending = 0;
  /** The server ends: what it still appends is not taken, and comes again at the next server. */
  leaving = false;
  /** What it was told last: permits and replicas, and how its batch stands. */
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

  /** Rollouts that run: the held ones gave their slots back. */
  get running(): number {
    return this.rollouts.size - this.held.size;
  }

  send(frame: ServerToWorker): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#cork();
    this.#socket.send(JSON.stringify(frame));
  }

  /** One commit answers many appends: all their frames leave with one system call. */
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

  /** Its lease is over: the worker must say hello again, on a new connection. */
  expire(): void {
    this.#socket.close(SESSION_ENDED, 'the session has ended');
  }
}
