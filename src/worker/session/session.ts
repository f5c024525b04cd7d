/**
 * The worker's connection to the server: one WebSocket at a time, opened again with jitter whenever it is lost.
 * Hears by beats whether the server is there; says when it has been silent for so long that nothing new may be
 * started (`fenced`), and when it is gone for good (`gone`).
 */
import { WebSocket } from 'ws';
import { StudioError } from '../../common/errors.ts';
import type { ServerToWorker, WorkerFrame } from '../../protocol/worker.ts';
import { BEAT_SECONDS, FENCE_SECONDS, LEASE_SECONDS, PROTOCOL, serverToWorker } from '../../protocol/worker.ts';
import type { ServerAddress } from './address.ts';
import type { FrameLog } from './frameLog.ts';

export type Welcome = Extract<ServerToWorker, { type: 'welcome' }>;
type Hello = Extract<WorkerFrame, { type: 'hello' }>;
type Beat = Extract<WorkerFrame, { type: 'beat' }>;

export interface SessionOptions {
  readonly address: ServerAddress;
  readonly token: string;
  readonly worker: string;
  readonly slots: number;
  /** How long the server may be gone; absent: the lease it told. */
  readonly giveUpSeconds?: number | undefined;
  /** How long it may be silent before no new effect is started; absent: 20 s. */
  readonly fenceSeconds?: number | undefined;
  /** Sees every frame, sent and received. */
  readonly frameLog?: FrameLog | undefined;
}

interface SessionHandlers {
  /** The rollouts that are held now, for `hello`. */
  rollouts(): Hello['rollouts'];
  load(): Beat['load'];
  /** How far this machine's clock is off, when that is to be told. */
  skew(): number | undefined;
  /** After each (re)connection, before any other frame. `tripMs`: since it was asked for. */
  welcome(frame: Welcome, tripMs: number): void;
  frame(frame: Exclude<ServerToWorker, Welcome>): void;
  /** Nothing was heard for so long that no new effect may start; or it was heard again. */
  fenced(on: boolean): void;
  /** The connection is over for good. */
  gone(error: StudioError): void;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;
const HANDSHAKE_MS = 5_000;
/** A connection on which this many beats stayed unanswered is opened anew. */
const SILENT_BEATS = 3;
const CHECK_MS = 1_000;

export class Session {
  readonly #options: SessionOptions;
  readonly #handlers: SessionHandlers;
  #socket: WebSocket | undefined;
  #welcomed = false;
  #closed = false;
  #fenced = false;
  #heardAt = performance.now();
  #beatAt = 0;
  #helloAt = 0;
  /** When a connection on which it was welcomed was lost; undefined: none was, or it is welcomed again. */
  #lostAt: number | undefined;
  #beatMs = BEAT_SECONDS * 1000;
  #leaseMs = LEASE_SECONDS * 1000;
  #failures = 0;
  #lastError = '';
  #retryTimer: NodeJS.Timeout | undefined;
  readonly #checkTimer: NodeJS.Timeout;

  constructor(options: SessionOptions, handlers: SessionHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#checkTimer = setInterval(() => this.#check(), CHECK_MS);
    this.#connect();
  }

  /**
   * Sends a frame. False when there is no connection: whoever sent it sends it again after `welcome`, or lets it be.
   */
  send(frame: WorkerFrame): boolean {
    return this.sendText(JSON.stringify(frame));
  }

  /** Sends a frame that is text already. */
  sendText(frame: string): boolean {
    if (!this.#welcomed || this.#socket === undefined) return false;
    this.#socket.send(frame);
    this.#options.frameLog?.(frame);
    return true;
  }

  /** Says `bye` (the rollouts go back to the queue at once) and closes; waits at most `ms` for it to leave. */
  async bye(ms: number): Promise<void> {
    const socket = this.#socket;
    const sent = this.send({ type: 'bye' });
    this.#end();
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, sent ? ms : 0);
      socket.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      socket.close(1000);
    });
    socket.terminate();
  }

  #end(): void {
    this.#closed = true;
    this.#welcomed = false;
    clearInterval(this.#checkTimer);
    clearTimeout(this.#retryTimer);
  }

  #connect(): void {
    const { address, token } = this.#options;
    const socket = new WebSocket(`${address.origin.replace(/^http/, 'ws')}/v1/worker`, {
      headers: { authorization: `Bearer ${token}` },
      perMessageDeflate: false,
      // Masks keep pages in browsers from forging frames to proxies; between our own processes they only cost time.
      generateMask: (mask) => void mask.fill(0),
      skipUTF8Validation: true,
      handshakeTimeout: HANDSHAKE_MS,
    });
    this.#socket = socket;
    socket.on('open', () => {
      this.#helloAt = performance.now();
      const hello: Hello = {
        type: 'hello',
        protocol: PROTOCOL,
        worker: this.#options.worker,
        slots: this.#options.slots,
        rollouts: this.#handlers.rollouts(),
        ...(this.#lostAt === undefined ? {} : { away_ms: Math.round(this.#helloAt - this.#lostAt) }),
      };
      socket.send(JSON.stringify(hello));
    });
    socket.on('message', (data) => {
      if (this.#socket === socket && !this.#closed) this.#receive(data);
    });
    socket.on('unexpected-response', (request, response) => {
      this.#lastError = `it answered ${response.statusCode ?? 0}`;
      request.destroy();
      // The token is wrong or its batch is over; asking again would not fix it.
      if (response.statusCode === 401 || response.statusCode === 403 || response.statusCode === 410)
        this.#giveUp(`The server no longer accepts this worker (${response.statusCode}).`);
      else this.#lost(socket);
    });
    socket.on('error', (error) => {
      this.#lastError = error.message;
    });
    socket.on('close', (code, reason) => {
      if (reason.length > 0) this.#lastError = reason.toString();
      // Policy violation: the server says what is wrong, and it will not change.
      if (code === 1008 && this.#socket === socket && !this.#closed)
        this.#giveUp(`The server rejected this worker: ${this.#lastError}`);
      else this.#lost(socket);
    });
  }

  #lost(socket: WebSocket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    if (this.#welcomed) this.#lostAt ??= performance.now();
    this.#welcomed = false;
    if (this.#closed) return;
    const wait = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures++) * (0.5 + Math.random() / 2);
    this.#retryTimer = setTimeout(() => {
      void this.#options.address.refresh().then(() => {
        if (!this.#closed) this.#connect();
      });
    }, wait);
  }

  #receive(data: unknown): void {
    let frame: ServerToWorker;
    try {
      const text = String(data);
      this.#options.frameLog?.(text);
      frame = serverToWorker.parse(JSON.parse(text));
    } catch (error) {
      this.#giveUp(`The server sent an unknown frame: ${textOf(error)}`);
      return;
    }
    this.#heardAt = performance.now();
    if (frame.type === 'welcome') {
      this.#failures = 0;
      this.#beatMs = frame.beat_s * 1000;
      this.#leaseMs = frame.lease_s * 1000;
      this.#welcomed = true;
      this.#lostAt = undefined;
      this.#handlers.welcome(frame, this.#heardAt - this.#helloAt);
      // The answer brings the first permits.
      this.#beat();
    } else {
      this.#handlers.frame(frame);
    }
    if (this.#fenced && this.#welcomed) {
      this.#fenced = false;
      this.#handlers.fenced(false);
    }
  }

  #check(): void {
    const now = performance.now();
    const silent = now - this.#heardAt;
    const giveUpMs = this.#options.giveUpSeconds === undefined ? this.#leaseMs : this.#options.giveUpSeconds * 1000;
    if (silent > giveUpMs) {
      this.#giveUp(`The server was unreachable for ${Math.round(silent / 1000)} s.`);
      return;
    }
    if (!this.#fenced && silent > (this.#options.fenceSeconds ?? FENCE_SECONDS) * 1000) {
      this.#fenced = true;
      this.#handlers.fenced(true);
    }
    if (!this.#welcomed) return;
    if (silent > SILENT_BEATS * this.#beatMs) {
      this.#lostAt = this.#heardAt;
      this.#socket?.terminate();
      // A tenth early: timers only ever fire late.
    } else if (now - this.#beatAt >= this.#beatMs - CHECK_MS / 10) {
      this.#beat();
    }
  }

  #beat(): void {
    this.#beatAt = performance.now();
    const skew = this.#handlers.skew();
    this.send({ type: 'beat', load: this.#handlers.load(), ...(skew === undefined ? {} : { skew_ms: skew }) });
  }

  #giveUp(what: string): void {
    if (this.#closed) return;
    const socket = this.#socket;
    this.#end();
    socket?.terminate();
    const last = this.#lastError === '' ? '' : ` Last: ${this.#lastError}.`;
    this.#handlers.gone(new StudioError('unavailable', `${what}${last}`));
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
