/**
 * Entry point of the process that runs the threads of user modules for a worker. It forwards messages other than most
 * calls, which the threads get themselves (callServer.ts), and does what must be done where the threads are: it watches
 * their memory, and ends the processes that they started, whose IDs the worker may not know. It ends with the worker.
 */
import { connect, type Socket } from 'node:net';
import type { EventLoopUtilization } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { entryUrl, HEAP_GROWTH } from '../../../common/entries.ts';
import { HARD_LIMIT, MemoryWatch, type WatchedThread } from '../../memoryWatch.ts';
import { killTree } from '../../processes/processTree.ts';
import { endStrays, markOf } from '../../processes/strays.ts';
import type { FromThread, ThreadStart, ToThread } from '../protocol.ts';
import type { FromProcess, ThreadLimits, ToProcess } from './protocol.ts';

setFlagsFromString(HEAP_GROWTH.tools);
process.umask(0o077);

/** V8's default per thread is six times as much. */
const YOUNG_MB = 8;

const watch = new MemoryWatch();
const threads = new Map<number, ModuleThread>();
/** IDs of running processes by their mark. */
const children = new Map<string, Set<number>>();
const connections = new Map<number, Socket>();

function send(message: FromProcess): void {
  process.send?.(message, undefined, undefined, () => undefined); // after a failure, `disconnect` follows
}

class ModuleThread implements WatchedThread {
  readonly limitBytes: number;
  readonly #id: number;
  readonly #worker: Worker;
  #watched: EventLoopUtilization | undefined;
  #measured: EventLoopUtilization | undefined;

  constructor(id: number, start: ThreadStart, { env, memoryMb }: ThreadLimits) {
    this.#id = id;
    this.limitBytes = memoryMb * 1024 * 1024;
    this.#worker = new Worker(entryUrl('toolThread'), {
      workerData: start,
      env: { ...env, ...placesOf(process.env) },
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // Discards output that bypasses the guards in the thread.
      stdin: false,
      stdout: true,
      stderr: true,
      // A small young generation: there are several threads, and objects of a call are short-lived.
      resourceLimits: { maxOldGenerationSizeMb: memoryMb * HARD_LIMIT, maxYoungGenerationSizeMb: YOUNG_MB },
    });
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
    this.#worker.on('message', (message: FromThread) => this.#received(message));
    this.#worker.on('messageerror', () => send({ type: 'unreadable', thread: id }));
    this.#worker.on('error', (error: Error & { code?: string }) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') this.outOfMemory();
      else
        send({
          type: 'failed',
          thread: id,
          message: error.message,
          ...(error.stack === undefined ? {} : { stack: error.stack }),
        });
    });
    this.#worker.on('exit', (code) => {
      watch.delete(this);
      threads.delete(id);
      send({ type: 'exited', thread: id, code });
    });
  }

  post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  end(): void {
    watch.delete(this);
    void this.#worker.terminate();
  }

  utilization(): number {
    const { since, now } = this.#utilizationSince(this.#watched);
    this.#watched = now;
    return since;
  }

  /** Returns the utilization since the last call. */
  measure(): number {
    const { since, now } = this.#utilizationSince(this.#measured);
    this.#measured = now;
    return since;
  }

  async memory(): Promise<number> {
    const heap = await this.#worker.getHeapStatistics();
    return heap.used_heap_size + heap.external_memory;
  }

  outOfMemory(): void {
    send({ type: 'outOfMemory', thread: this.#id });
  }

  /** User code can send messages, too: the worker validates them, and here, nothing may depend on them. */
  #received(message: FromThread): void {
    switch (message.type) {
      case 'ready':
        this.measure(); // loading does not count
        watch.add(this);
        break;
      case 'child':
        childChanged(message.mark, message.pid, message.alive);
        return;
      default:
    }
    send({ type: 'message', thread: this.#id, message });
  }

  #utilizationSince(before: EventLoopUtilization | undefined): { since: number; now: EventLoopUtilization } {
    const { performance } = this.#worker;
    const now = performance.eventLoopUtilization();
    return { since: performance.eventLoopUtilization(now, before).utilization, now };
  }
}

/** Returns the variables that differ in a sandbox. */
function placesOf({ HOME, TMPDIR }: NodeJS.ProcessEnv): Record<string, string> {
  return { ...(HOME === undefined ? {} : { HOME }), ...(TMPDIR === undefined ? {} : { TMPDIR }) };
}

function childChanged(mark: string, pid: number, alive: boolean): void {
  if (!Number.isInteger(pid) || pid < 2 || pid === process.pid) return;
  const running = children.get(mark) ?? new Set();
  children.set(mark, running);
  if (alive) running.add(pid);
  else {
    killTree(pid); // also ends remaining children
    running.delete(pid);
  }
  if (running.size === 0) children.delete(mark);
  send({ type: 'group', pid, alive });
}

async function endProcesses(owner: string): Promise<void> {
  const mark = markOf(owner);
  for (const pid of children.get(mark) ?? []) childChanged(mark, pid, false);
  await endStrays(owner);
}

/** Relays a debugger's connection: this process may have a network of its own. */
function openConnection(connection: number, port: number): void {
  const socket = connect(port, '127.0.0.1');
  connections.set(connection, socket);
  socket.on('data', (data) => send({ type: 'data', connection, data }));
  socket.on('error', () => undefined); // `close` follows
  socket.on('close', () => {
    connections.delete(connection);
    send({ type: 'disconnect', connection });
  });
}

/** Our worker sends them, and nobody else. */
function receive(message: ToProcess): void {
  switch (message.type) {
    case 'start':
      threads.set(message.thread, new ModuleThread(message.thread, message.start, message.limits));
      return;
    case 'post':
      threads.get(message.thread)?.post(message.message);
      return;
    case 'end':
      threads.get(message.thread)?.end();
      return;
    case 'measure':
      send({ type: 'done', id: message.id, value: threads.get(message.thread)?.measure() ?? 0 });
      return;
    case 'endProcesses':
      void endProcesses(message.owner).then(() => send({ type: 'done', id: message.id, value: 0 }));
      return;
    case 'connect':
      openConnection(message.connection, message.port);
      return;
    case 'data':
      connections.get(message.connection)?.write(message.data);
      return;
    case 'disconnect':
      connections.get(message.connection)?.destroy();
      return;
  }
}

process.on('message', receive);
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL')); // a blocked thread would prevent an exit
