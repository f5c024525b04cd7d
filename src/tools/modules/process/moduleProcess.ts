/** A process that runs the threads of user modules, as the worker sees it. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { deferred } from '../../../common/abort.ts';
import { entryUrl, LONG_RUNNING } from '../../../common/entries.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import { type GroupProcess, isStarted, killGroup } from '../../processes/groupProcess.ts';
import { LastLines } from '../../processes/output.ts';
import type { ProcessGroups } from '../../processes/processGroups.ts';
import { killTree } from '../../processes/processTree.ts';
import { spawnGroup } from '../../processes/spawnGroup.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { ModuleStart, ToThread } from '../protocol.ts';
import { type CallLink, CallServer } from './callServer.ts';
import { type FromProcess, fromProcess, type ThreadLimits, type ToProcess } from './protocol.ts';

/** Receives what happens to a thread. */
export interface ThreadEvents {
  message(message: unknown): void;
  outOfMemory(): void;
  failed(why: string, stack?: string, cause?: unknown): void;
  /** The process is gone. `alone`: no other thread was busy. */
  lost(why: string, alone: boolean, cause?: unknown): void;
  /** The process ends when its threads have ended. */
  retired(): void;
  exited(code: number): void;
  readonly busy: number;
}

/** A thread in the process. */
export interface ThreadLink {
  /** `direct`: without the main thread of the process if possible. Must be the same for all messages about a run. */
  post(message: ToThread, direct: boolean): void;
  /** Terminates it. `exited` follows. */
  end(): void;
  /** Gives up a thread that does not end: the process ends as soon as its other threads have. */
  abandon(): void;
  /** Returns its utilization since the last call, from 0 to 1. */
  measure(): Promise<number>;
}

/** V8 prints a stack after its last words. */
const FATAL_LINES = 40;

interface ModuleProcessOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  /** Opens the sandbox that the process runs in, if any. */
  readonly openSandbox: () => Promise<Sandbox | undefined>;
}

export class ModuleProcess {
  readonly #options: ModuleProcessOptions;
  readonly #threads = new Map<number, ThreadEvents>();
  readonly #calls = new CallServer();
  readonly #links = new Map<number, CallLink>();
  readonly #requests = new Map<number, (value: number) => void>();
  readonly #connections = new Map<number, Socket>();
  readonly #groups = new Set<number>();
  readonly #lines = new LastLines();
  readonly #exited = deferred<undefined>();
  readonly #starting: Promise<void>;
  /** Messages to send once it runs. */
  #waiting: ToProcess[] = [];
  #child: GroupProcess | undefined;
  #sandbox: Sandbox | undefined;
  #next = 1;
  #retired = false;
  #ended = false;

  constructor(options: ModuleProcessOptions) {
    this.#options = options;
    this.#starting = this.#start().catch((error: unknown) => this.#end(errorText(error), error));
  }

  /** Resolves when it has ended, and its sandbox with it. */
  get ended(): Promise<void> {
    return this.#exited.promise;
  }

  /** Whether it runs in a sandbox. False while it starts. */
  get sandboxed(): boolean {
    return this.#sandbox !== undefined;
  }

  /** Whether it gets no new threads. */
  get retired(): boolean {
    return this.#retired || this.#ended;
  }

  startThread(start: ModuleStart, limits: ThreadLimits, events: ThreadEvents): ThreadLink {
    const thread = this.#next++;
    this.#threads.set(thread, events);
    const link = this.#calls.expect(events);
    this.#links.set(thread, link);
    this.#send({ type: 'start', thread, start: { ...start, calls: link.address }, limits });
    return {
      post: (message, direct) => {
        if (!direct || !link.post(message)) this.#send({ type: 'post', thread, message });
      },
      end: () => this.#send({ type: 'end', thread }),
      abandon: () => this.#abandon(thread),
      measure: () => this.#request((id) => ({ type: 'measure', id, thread })),
    };
  }

  /** Ends the processes of an owner that modules started. */
  async endProcesses(owner: string): Promise<void> {
    if (!this.#ended) await this.#request((id) => ({ type: 'endProcesses', id, owner }));
  }

  /**
   * Makes a port of the process's network available on this machine, for debuggers. Returns its port here. It closes
   * with the signal.
   */
  async forward(port: number, signal: AbortSignal): Promise<number> {
    const server = createServer((socket) => {
      const connection = this.#next++;
      this.#connections.set(connection, socket);
      socket.on('data', (data) => this.#send({ type: 'data', connection, data }));
      socket.on('error', () => undefined); // `close` follows
      socket.on('close', () => {
        this.#connections.delete(connection);
        this.#send({ type: 'disconnect', connection });
      });
      this.#send({ type: 'connect', connection, port });
    });
    signal.addEventListener('abort', () => server.close(), { once: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('The server has no port.');
    return address.port;
  }

  /** Kills it. Resolves when it has ended, and all processes in its sandbox with it. */
  async close(): Promise<void> {
    this.#end('it was ended');
    await Promise.all([this.#starting, this.#exited.promise]);
  }

  async #start(): Promise<void> {
    const { cwd, env, processGroups, openSandbox } = this.#options;
    const sandbox = await openSandbox();
    if (this.#ended) return await sandbox?.end();
    this.#sandbox = sandbox;
    this.#calls.listen(cwd);
    const child = spawnGroup(
      {
        file: process.execPath,
        args: [...LONG_RUNNING, fileURLToPath(entryUrl('moduleProcess'))],
        cwd,
        env: { ...env, ELECTRON_RUN_AS_NODE: '1' },
        sandbox: this.#sandbox,
        messages: true,
      },
      processGroups,
    );
    this.#child = child;
    child.stdin.on('error', () => undefined);
    child.stdout.resume();
    child.stderr.on('data', (chunk: Buffer) => this.#lines.push(chunk.toString()));
    child.on('message', (message: unknown) => this.#receive(message));
    child.on('error', (error) => this.#end(errorText(error), error));
    child.on('exit', (code, signal) => {
      this.#end(`${endingOf(code, signal)}${this.#lastWords()}`);
      void this.#cleanUp(child);
    });
    for (const message of this.#waiting.splice(0)) this.#send(message);
  }

  #lastWords(): string {
    const fatal = /FATAL ERROR: (.*)/.exec(this.#lines.last(FATAL_LINES))?.[1];
    return fatal === undefined ? '' : `: ${fatal}`;
  }

  async #cleanUp(child: GroupProcess): Promise<void> {
    const { processGroups } = this.#options;
    for (const group of this.#groups) {
      killTree(group); // nobody else knows that the module started it
      this.#groupChanged(group, false);
    }
    await this.#sandbox?.end();
    killGroup(child); // what it started in its group
    if (child.pid !== undefined) processGroups.remove(child.pid);
    this.#exited.resolve(undefined);
  }

  #send(message: ToProcess): void {
    if (this.#ended) return;
    if (this.#child === undefined) this.#waiting.push(message);
    else if (this.#child.connected) this.#child.send(message, () => undefined); // after a failure, `exit` follows
  }

  /** Sends a request. Resolves with 0 when the process ends. */
  #request(message: (id: number) => ToProcess): Promise<number> {
    if (this.#ended) return Promise.resolve(0);
    const id = this.#next++;
    return new Promise((resolve) => {
      this.#requests.set(id, resolve);
      this.#send(message(id));
    });
  }

  #receive(raw: unknown): void {
    const parsed = fromProcess.safeParse(raw);
    if (parsed.success) this.#handle(parsed.data);
    else this.#end('a module sent its own messages to the worker');
  }

  #handle(message: FromProcess): void {
    switch (message.type) {
      case 'message':
        this.#threads.get(message.thread)?.message(message.message);
        return;
      case 'unreadable':
        this.#threads.get(message.thread)?.failed('it sent an unreadable message');
        return;
      case 'outOfMemory':
        this.#threads.get(message.thread)?.outOfMemory();
        return;
      case 'failed':
        this.#threads.get(message.thread)?.failed(`it failed: ${message.message}`, message.stack);
        return;
      case 'exited':
        void this.#exitedThread(message.thread, message.code);
        return;
      case 'done':
        this.#requests.get(message.id)?.(message.value);
        this.#requests.delete(message.id);
        return;
      case 'group':
        // In a sandbox with its own processes, the ID belongs to another process here.
        if (this.#sandbox?.ownProcesses !== true) this.#groupChanged(message.pid, message.alive);
        return;
      case 'data':
        this.#connections.get(message.connection)?.write(message.data);
        return;
      case 'disconnect':
        this.#connections.get(message.connection)?.end();
        return;
    }
  }

  async #exitedThread(id: number, code: number): Promise<void> {
    await this.#links.get(id)?.drained();
    this.#links.delete(id);
    const thread = this.#threads.get(id);
    this.#threads.delete(id);
    thread?.exited(code);
    this.#endIfUnused();
  }

  #groupChanged(pid: number, alive: boolean): void {
    if (alive) {
      this.#groups.add(pid);
      this.#options.processGroups.add(pid);
    } else if (this.#groups.delete(pid)) this.#options.processGroups.remove(pid);
  }

  #abandon(thread: number): void {
    this.#threads.delete(thread);
    this.#retired = true;
    for (const other of [...this.#threads.values()]) other.retired();
    this.#endIfUnused();
  }

  #endIfUnused(): void {
    if (this.#retired && this.#threads.size === 0) this.#end('it was ended');
  }

  #end(why: string, cause?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#calls.close();
    const child = this.#child;
    if (child === undefined || !isStarted(child)) {
      const opened = this.#sandbox?.end() ?? Promise.resolve();
      void opened.finally(() => this.#exited.resolve(undefined));
    } else killGroup(child);
    for (const resolve of this.#requests.values()) resolve(0);
    for (const socket of this.#connections.values()) socket.destroy();
    const threads = [...this.#threads.values()];
    this.#threads.clear();
    const alone = threads.filter(({ busy }) => busy > 0).length === 1;
    const error = StudioError.is(cause) ? cause : undefined;
    for (const thread of threads) {
      thread.lost(`the process of its module ended: ${why}`, alone, error);
      thread.exited(1);
    }
  }
}

/** Describes the end of the process. */
function endingOf(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === null) return `it exited with code ${code}`;
  return signal === 'SIGKILL' ? 'it was killed (SIGKILL), as when memory runs out' : `it was ended by ${signal}`;
}
