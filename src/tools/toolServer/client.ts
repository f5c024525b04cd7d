/** The worker's side of a tool server: it starts programs in another container and opens their sandboxes there. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCodeOf, errorText, StudioError } from '../../common/errors.ts';
import {
  type Frame,
  FrameReader,
  KIND,
  readData,
  readMessage,
  writeControl,
  writeData,
  writeEnd,
  writeMessage,
} from './frames.ts';
import { type SpawnRequest, type ToolEvent, type ToolRequest, toolEvent } from './protocol.ts';

/** How long a tool server may take to start: its container starts with the worker's. */
const START_MS = 60_000;
const TRY_MS = 50;
const PING_MS = 5_000;
/** A server that is silent for so long has been stopped, or its container is gone. */
const SILENT_MS = 30_000;

/** Receives what a program does. */
export interface ProgramEvents {
  spawned(): void;
  /** No bytes: the pipe has ended. */
  output(pipe: number, bytes: Buffer): void;
  received(message: Buffer): void;
  exited(code: number | null, signal: NodeJS.Signals | null): void;
  closed(): void;
  /** It could not be started, or the server is gone. Nothing follows. */
  failed(error: Error): void;
}

/** The way to a program. */
export interface ProgramLink {
  write(pipe: number, bytes: Uint8Array, done: () => void): void;
  end(pipe: number): void;
  message(bytes: Uint8Array): void;
  /** Kills it with its group. */
  kill(): void;
}

type Answered = Extract<ToolRequest, { type: 'open' | 'close' | 'noSandbox' | 'endStrays' | 'clear' }>;
/** Each of a union without a field. */
type Without<T, Field extends PropertyKey> = T extends unknown ? Omit<T, Field> : never;

interface PendingRequest {
  resolve(text: string | undefined): void;
  reject(error: StudioError): void;
}

export class ToolClient {
  /** Resolves with the reason when the server is gone, also after `close`. */
  readonly lost: Promise<StudioError>;
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  readonly #programs = new Map<number, ProgramEvents>();
  readonly #pending = new Map<number, PendingRequest>();
  readonly #pings: NodeJS.Timeout;
  #heard = Date.now();
  #next = 1;
  #lost: StudioError | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#pings = setInterval(() => this.#ping(), PING_MS).unref();
    const { promise, resolve } = Promise.withResolvers<StudioError>();
    this.lost = promise;
    let cause: Error | undefined;
    socket.setMaxListeners(0);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => {
      cause = error;
    });
    socket.on('close', () => resolve(this.#end(cause)));
  }

  /** Connects to the server at a socket. Throws StudioError `unavailable` if it does not start. */
  static async connect(at: string): Promise<ToolClient> {
    const until = Date.now() + START_MS;
    for (;;) {
      const socket = connect(at);
      try {
        await once(socket, 'connect');
        return new ToolClient(socket);
      } catch (cause) {
        if (Date.now() > until)
          throw new StudioError('unavailable', `The tool server at ${at} does not start: ${errorText(cause)}.`, {
            cause,
          });
        await sleep(TRY_MS);
      }
    }
  }

  /** Returns why the other container has no sandbox; undefined if it has one, or if that cannot be told. */
  noSandbox(): Promise<string | undefined> {
    return this.request({ type: 'noSandbox' }).catch(() => undefined); // what needs a sandbox reports the reason
  }

  /**
   * Sends a request and returns the text of its answer, if any. Throws StudioError as the server says, `unavailable` if
   * it is gone.
   */
  async request(request: Without<Answered, 'id'>): Promise<string | undefined> {
    if (this.#lost !== undefined) throw this.#lost;
    const id = this.#next++;
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
    this.#pending.set(id, { resolve, reject });
    this.#send({ ...request, id });
    return await promise;
  }

  /** Starts a program. What happens is reported later. */
  start(
    program: Without<SpawnRequest, 'id' | 'type'>,
    createEvents: (link: ProgramLink) => ProgramEvents,
  ): ProgramEvents {
    const id = this.#next++;
    const events = createEvents({
      write: (pipe, bytes, done) => {
        if (writeData(this.#socket, id, pipe, bytes) || this.#lost !== undefined) done();
        else this.#socket.once('drain', done);
      },
      end: (pipe) => writeEnd(this.#socket, id, pipe),
      message: (bytes) => writeMessage(this.#socket, id, bytes),
      kill: () => {
        if (this.#programs.has(id)) this.#send({ type: 'kill', id });
      },
    });
    const lost = this.#lost;
    if (lost === undefined) {
      this.#programs.set(id, events);
      this.#send({ ...program, type: 'spawn', id });
    } else setImmediate(() => events.failed(lost));
    return events;
  }

  /** Ends the connection, and all programs with it. */
  close(): void {
    this.#socket.destroy();
  }

  #send(request: ToolRequest): void {
    writeControl(this.#socket, request);
  }

  #ping(): void {
    if (Date.now() - this.#heard > SILENT_MS) this.#socket.destroy(new Error('it does not respond'));
    else this.#send({ type: 'ping' });
  }

  #read(chunk: Buffer): void {
    this.#heard = Date.now();
    try {
      for (const frame of this.#reader.push(chunk)) this.#receive(frame);
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #receive({ kind, content }: Frame): void {
    if (kind === KIND.data) {
      const { id, pipe, bytes } = readData(content);
      this.#programs.get(id)?.output(pipe, bytes);
    } else if (kind === KIND.message) {
      const { id, message } = readMessage(content);
      this.#programs.get(id)?.received(message);
    } else this.#handle(toolEvent.parse(JSON.parse(content.toString('utf8'))));
  }

  #handle(event: ToolEvent): void {
    if (event.type === 'pong') return;
    const { id } = event;
    const program = this.#programs.get(id);
    switch (event.type) {
      case 'done':
        this.#pending.get(id)?.resolve(event.text);
        this.#pending.delete(id);
        return;
      case 'failed': {
        const { code, message, hint } = event.error;
        this.#pending
          .get(id)
          ?.reject(new StudioError(errorCodeOf(code, 'unavailable'), message, hint === undefined ? {} : { hint }));
        this.#pending.delete(id);
        return;
      }
      case 'spawned':
        program?.spawned();
        return;
      case 'error':
        this.#programs.delete(id);
        program?.failed(Object.assign(new Error(event.message), event.code === undefined ? {} : { code: event.code }));
        return;
      case 'exit':
        program?.exited(event.code, event.signal as NodeJS.Signals | null); // only shown
        return;
      case 'closed':
        this.#programs.delete(id);
        program?.closed();
        return;
    }
  }

  #end(cause: Error | undefined): StudioError {
    clearInterval(this.#pings);
    const why = cause === undefined ? 'it ended' : cause.message.replace(/\.$/, '');
    const lost = new StudioError('unavailable', `The tool server is gone: ${why}.`, { cause });
    this.#lost = lost;
    const programs = [...this.#programs.values()];
    this.#programs.clear();
    for (const program of programs) program.failed(lost);
    for (const pending of this.#pending.values()) pending.reject(lost);
    this.#pending.clear();
    this.#socket.emit('drain'); // writes that wait
    return lost;
  }
}
