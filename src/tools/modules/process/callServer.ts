/**
 * Where threads of modules connect to the worker: calls and their answers go straight between the two. Through the
 * main thread of its process, as everything else does and the calls of threads that cannot connect, a call costs twice
 * as much.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { deferred } from '../../../common/abort.ts';
import { Lines } from '../../mcp/lines.ts';
import { ANSWER_CHARS } from '../limits.ts';
import type { CallAddress, ToThread } from '../protocol.ts';

const TOKEN_BYTES = 32;
/** How long a connection may take to show its token. */
const HELLO_MS = 5_000;
/** How long a process that a thread started may keep its connection open. */
const DRAIN_MS = 200;
/** How long the reason for the end of a thread may take to arrive after the end of its connection. */
const REASON_MS = 2_000;

/** Maximum number of connections by others than threads. */
const STRANGERS = 16;

interface CallEvents {
  message(message: unknown): void;
  failed(why: string): void;
}

export class CallServer {
  readonly #server = createServer((socket) => this.#accept(socket));
  /** By token. */
  readonly #expected = new Map<string, CallLink>();
  readonly #name =
    process.platform === 'win32' ? `\\\\.\\pipe\\rollout-${randomUUID()}` : `${randomUUID().slice(0, 8)}.calls`;
  #folder: { readonly path: string; readonly descriptor: number } | undefined;

  /** Listens in `folder`, which exists, and in which the process starts. */
  listen(folder: string): void {
    this.#server.on('error', () => undefined); // no thread can connect then
    if (process.platform === 'linux') {
      const descriptor = openSync(folder, constants.O_DIRECTORY);
      this.#folder = { path: folder, descriptor };
      // Addresses have at most 107 bytes.
      this.#server.listen(`/proc/self/fd/${descriptor}/${this.#name}`);
    } else this.#server.listen(path.resolve(folder, this.#name));
  }

  /** Expects the connection of a new thread. */
  expect(events: CallEvents): CallLink {
    const token = randomBytes(TOKEN_BYTES).toString('hex');
    const link = new CallLink({ at: this.#name, token }, events);
    this.#expected.set(token, link);
    this.#server.maxConnections = this.#expected.size + STRANGERS;
    void link.closed.then(() => {
      this.#expected.delete(token);
      this.#server.maxConnections = this.#expected.size + STRANGERS;
    });
    return link;
  }

  close(): void {
    this.#server.close();
    for (const link of this.#expected.values()) link.close();
    if (this.#folder === undefined) return;
    closeSync(this.#folder.descriptor);
    rmSync(path.join(this.#folder.path, this.#name), { force: true });
    this.#folder = undefined;
  }

  #accept(socket: Socket): void {
    let token = '';
    const timer = setTimeout(() => socket.destroy(), HELLO_MS);
    socket.on('error', () => undefined); // `close` follows
    socket.once('close', () => clearTimeout(timer));
    const listen = (chunk: Buffer): void => {
      token += chunk.toString('latin1');
      if (token.length < 2 * TOKEN_BYTES) return;
      socket.off('data', listen);
      clearTimeout(timer);
      const link = this.#expected.get(token);
      if (link?.open(socket) !== true) socket.destroy();
    };
    socket.on('data', listen);
  }
}

/** The connection of a thread. */
export class CallLink {
  readonly address: CallAddress;
  readonly #events: CallEvents;
  readonly #closed = deferred<undefined>();
  #socket: Socket | undefined;
  #corked = false;
  #ended = false;

  constructor(address: CallAddress, events: CallEvents) {
    this.address = address;
    this.#events = events;
  }

  get closed(): Promise<unknown> {
    return this.#closed.promise;
  }

  /** Sends a message. Returns whether the thread has connected. */
  post(message: ToThread): boolean {
    if (this.#socket === undefined || this.#socket.destroyed) return false;
    this.#cork(this.#socket);
    this.#socket.write(`${JSON.stringify(message)}\n`);
    return true;
  }

  /** The calls of many rollouts that continue at the same moment leave with one system call. */
  #cork(socket: Socket): void {
    if (this.#corked) return;
    this.#corked = true;
    socket.cork();
    setImmediate(() => {
      this.#corked = false;
      socket.uncork();
    });
  }

  /** Resolves when all messages of a thread that has exited are received. */
  async drained(): Promise<void> {
    this.#ended = true;
    if (this.#socket === undefined) {
      this.close();
      return;
    }
    const timer = setTimeout(() => this.close(), DRAIN_MS);
    await this.closed;
    clearTimeout(timer);
  }

  close(): void {
    this.#ended = true;
    this.#socket?.destroy();
    this.#closed.resolve(undefined);
  }

  /** Called when the thread has connected. Returns whether this is the first time. */
  open(socket: Socket): boolean {
    if (this.#socket !== undefined || this.#ended) return false;
    this.#socket = socket;
    const lines = new Lines(4 * ANSWER_CHARS);
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) this.#events.message(JSON.parse(line));
      } catch {
        socket.destroy(); // neither is by us
      }
    });
    socket.on('close', () => {
      this.#closed.resolve(undefined);
      if (!this.#ended) setTimeout(() => this.#lost(), REASON_MS).unref();
    });
    socket.write('\n');
    return true;
  }

  #lost(): void {
    if (!this.#ended) this.#events.failed('it closed its connection to the worker');
  }
}
