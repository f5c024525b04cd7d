/**
 * The worker's connection to the server: one WebSocket at a time, reopened with jitter whenever it is lost. Detects by
 * beats whether the server is there; reports when it has been silent so long that nothing new may start (`fenced`), and
 * when it is gone for good (`gone`).
 */
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { StudioError } from '../../common/errors.ts';
import type { ServerToWorker, WorkerFrame } from '../../protocol/worker.ts';
import {
  BEAT_SECONDS,
  FENCE_SECONDS,
  isUnknownFrame,
  LEASE_SECONDS,
  serverToWorker,
  WORKER_PROTOCOL,
} from '../../protocol/worker.ts';
import type { Outlet, OutletText, PlainFrame } from '../outlet.ts';
import type { ServerAddress } from './address.ts';
import type { FrameLog } from './frameLog.ts';

export type Welcome = Extract<ServerToWorker, { type: 'welcome' }>;
type Hello = Extract<WorkerFrame, { type: 'hello' }>;
type Beat = Extract<WorkerFrame, { type: 'beat' }>;

export interface SessionOptions {
  readonly address: ServerAddress;
  /** The enrollment token of the batch or of its pods. */
  readonly token: string;
  readonly worker: string;
  /** The UID of its pod. */
  readonly pod?: string | undefined;
  readonly slots: number;
  /** Why there is no sandbox for what its tools start, if the server cannot know it. */
  readonly noSandbox?: string | undefined;
  readonly outlet: Outlet;
  /** How long the server may be gone. Default: the lease that it reported. */
  readonly maxOutageSeconds?: number | undefined;
  /** How long it may be silent before no new effect starts. Default: 20 s. */
  readonly fenceSeconds?: number | undefined;
  /** Receives every frame, sent and received. */
  readonly frameLog?: FrameLog | undefined;
}

interface SessionHandlers {
  /** Returns the rollouts that are held now, for `hello`. */
  rollouts(): Hello['rollouts'];
  load(): Beat['load'];
  /** Returns how far this machine's clock is off, if that should be reported. */
  skew(): number | undefined;
  /** Called after each (re)connection, before any other frame. `tripMs`: time since the request. */
  welcome(frame: Welcome, tripMs: number): void;
  frame(frame: Exclude<ServerToWorker, Welcome>): void;
  /** Called when the server has been silent so long that no new effect may start, and when it responds again. */
  fenced(on: boolean): void;
  /** Called when the connection is over for good. */
  lostForGood(error: StudioError): void;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;
const HANDSHAKE_MS = 5_000;
/** After this many unanswered beats, a connection is reopened. */
const SILENT_BEATS = 3;
const CHECK_MS = 1_000;

export class Session {
  readonly #options: SessionOptions;
  readonly #handlers: SessionHandlers;
  #socket: WebSocket | undefined;
  /** The stream below the current connection. */
  #transport: Duplex | undefined;
  #corked = false;
  #welcomed = false;
  /** Its version of the protocol. */
  #serverProtocol = 0;
  #closed = false;
  #fenced = false;
  #lastFrameAt = performance.now();
  #beatAt = 0;
  #helloAt = 0;
  /** When a welcomed connection was lost; undefined while one is welcome, or before the first. */
  #lostAt: number | undefined;
  #beatMs = BEAT_SECONDS * 1000;
  #leaseMs = LEASE_SECONDS * 1000;
  #failures = 0;
  #lastError = '';
  /** Of the current or the last session. */
  #sessionToken: string | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  readonly #checkTimer: NodeJS.Timeout;

  constructor(options: SessionOptions, handlers: SessionHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#checkTimer = setInterval(() => this.#check(), CHECK_MS);
    this.#connect();
  }

  /** The token of the session, for HTTP requests. */
  get token(): string {
    return this.#sessionToken ?? '';
  }

  /** Sends a frame. Returns false without a connection: the sender sends it again after `welcome`, or drops it. */
  send(frame: PlainFrame): boolean {
    return this.sendText(this.#options.outlet.frame(frame));
  }

  /** Sends a frame that is already text. */
  sendText(frame: OutletText): boolean {
    if (!this.#welcomed || this.#socket === undefined) return false;
    this.#cork();
    this.#socket.send(frame);
    this.#options.frameLog?.(frame);
    return true;
  }

  /** The frames of many rollouts leave with one system call. */
  #cork(): void {
    const transport = this.#transport;
    if (transport === undefined || this.#corked) return;
    this.#corked = true;
    transport.cork();
    process.nextTick(() => {
      this.#corked = false;
      transport.uncork();
    });
  }

  /** Sends `bye` (the rollouts return to the queue immediately) and closes the connection; waits at most `ms`. */
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
    socket.on('upgrade', ({ socket: transport }) => {
      if (this.#socket === socket) this.#transport = transport;
    });
    socket.on('open', () => {
      this.#helloAt = performance.now();
      const hello: Hello = {
        type: 'hello',
        protocol: WORKER_PROTOCOL,
        worker: this.#options.worker,
        slots: this.#options.slots,
        rollouts: this.#handlers.rollouts(),
        ...(this.#options.pod === undefined ? {} : { pod: this.#options.pod }),
        ...(this.#options.noSandbox === undefined ? {} : { no_sandbox: this.#options.noSandbox }),
        ...(this.#sessionToken === undefined ? {} : { resume: this.#sessionToken }),
        ...(this.#lostAt === undefined ? {} : { away_ms: Math.round(this.#helloAt - this.#lostAt) }),
      };
      socket.send(this.#options.outlet.frame(hello));
    });
    socket.on('message', (data) => {
      if (this.#socket === socket && !this.#closed) this.#receive(data);
    });
    socket.on('unexpected-response', (request, response) => {
      this.#lastError = `it answered ${response.statusCode ?? 0}`;
      request.destroy();
      // The token is invalid or its batch is over; a retry would not help.
      if (response.statusCode === 401 || response.statusCode === 403 || response.statusCode === 410)
        this.#endForGood(`The server no longer accepts this worker (${response.statusCode}).`);
      else this.#lost(socket);
    });
    socket.on('error', (error) => {
      this.#lastError = error.message;
    });
    socket.on('close', (code, reason) => {
      if (reason.length > 0) this.#lastError = reason.toString();
      // Policy violation: the server's reason is permanent.
      if (code === 1008 && this.#socket === socket && !this.#closed)
        this.#endForGood(`The server rejected this worker: ${this.#lastError}`);
      else this.#lost(socket);
    });
  }

  #lost(socket: WebSocket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    this.#transport = undefined;
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
      const raw: unknown = JSON.parse(text);
      if (this.#serverProtocol > WORKER_PROTOCOL && isUnknownFrame(raw, serverToWorker)) return;
      frame = serverToWorker.parse(raw);
    } catch (error) {
      this.#endForGood(`The server sent an unknown frame: ${textOf(error)}`);
      return;
    }
    this.#lastFrameAt = performance.now();
    if (frame.type === 'welcome') {
      this.#failures = 0;
      this.#beatMs = frame.beat_s * 1000;
      this.#leaseMs = frame.lease_s * 1000;
      this.#welcomed = true;
      this.#serverProtocol = frame.protocol ?? 0;
      this.#sessionToken = frame.token;
      this.#lostAt = undefined;
      this.#handlers.welcome(frame, this.#lastFrameAt - this.#helloAt);
      // The response brings the first permits.
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
    const silent = now - this.#lastFrameAt;
    const maxOutageMs =
      this.#options.maxOutageSeconds === undefined ? this.#leaseMs : this.#options.maxOutageSeconds * 1000;
    if (silent > maxOutageMs) {
      this.#endForGood(`The server was unreachable for ${Math.round(silent / 1000)} s.`);
      return;
    }
    if (!this.#fenced && silent > (this.#options.fenceSeconds ?? FENCE_SECONDS) * 1000) {
      this.#fenced = true;
      this.#handlers.fenced(true);
    }
    if (!this.#welcomed) return;
    if (silent > SILENT_BEATS * this.#beatMs) {
      this.#lostAt = this.#lastFrameAt;
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

  #endForGood(what: string): void {
    if (this.#closed) return;
    const socket = this.#socket;
    this.#end();
    socket?.terminate();
    const last = this.#lastError === '' ? '' : ` Last: ${this.#lastError}.`;
    this.#handlers.lostForGood(new StudioError('unavailable', `${what}${last}`));
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
