import type { EventLoopUtilization } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import type { Deferred } from '../../common/abort.ts';
import { deferred } from '../../common/abort.ts';
import { entryUrl } from '../../common/entries.ts';
import type { CallInspection } from '../../rollout/ports.ts';
import type { Children } from './children.ts';
import { Inspector } from './inspector.ts';
import { HARD_LIMIT, type MemoryWatch, type WatchedThread } from './memoryWatch.ts';
import type { FromThread, Operation, ThreadStart, Thrown, ToolProblem, ToThread, WireTool } from './protocol.ts';
import { fromThread, wireTool } from './protocol.ts';

/** After an abort a call has this long to end by itself. */
const GRACE_MS = 300;
/** How long a module may take to load. */
const LOAD_MS = 30_000;

import type { StackMapper } from './userStack.ts';

export type Answer = Extract<FromThread, { type: 'done' }>;

/** What a module told when it was loaded. */
export interface LoadedModule {
  readonly tools: readonly WireTool[];
  /** The text `tools` were read from: equal texts are equal tools. */
  readonly toolsText: string;
  readonly exports: readonly string[];
  readonly problems: readonly ToolProblem[];
}

/** The user's code threw, or its arguments or result cannot be told. */
export class UserError extends Error {
  readonly thrown: Thrown;
  /** JSON of what the world told as changed before. */
  readonly changes: string | undefined;
  constructor(thrown: Thrown, changes?: string) {
    super(thrown.message);
    this.thrown = thrown;
    this.changes = changes;
  }
}

/** The thread ended under this operation. */
export class ThreadLost extends Error {
  /** Whether this operation is why it ended; false: another one was, and this one only shared the thread. */
  readonly guilty: boolean;
  /** Where in the thread it was caused. */
  readonly threadStack: string | undefined;
  constructor(message: string, guilty: boolean, threadStack?: string) {
    super(message);
    this.guilty = guilty;
    this.threadStack = threadStack;
  }
}

/** The operation's signal aborted. */
export class AbortedCall extends Error {}

export interface Sinks {
  readonly signal: AbortSignal;
  onLog(stream: 'out' | 'err', text: string): void;
  onProgress(): void;
  /** A tool's call under a JavaScript debugger. */
  readonly inspect?: CallInspection | undefined;
  /** Who is told of the processes that the operation starts, and of their ends. */
  readonly children?: Pick<Children, 'mark' | 'tell'>;
  /** What is printed or thrown after the operation ended. */
  onLate(stream: 'out' | 'err', text: string): void;
}

interface PendingReply {
  readonly sinks: Sinks;
  readonly answer: Deferred<Answer>;
  readonly onAbort: () => void;
  /** The thread confirmed the abort: its loop is alive. */
  confirmed: boolean;
  grace: NodeJS.Timeout | undefined;
  inspector: Inspector | undefined;
}

export interface ThreadOptions extends ThreadStart {
  readonly env: Readonly<Record<string, string>>;
  readonly mapper: StackMapper;
  /** Heap and buffers together. */
  readonly memoryMb: number;
  /** Puts the module's source map where a debugger looks for it. */
  layMap(): Promise<void>;
  /** Told of each thread; `gone` resolves when it has really ended. */
  onStart(gone: Promise<void>): void;
  /** Told when a thread cannot be ended: its process is the only thing left to end. */
  onStuck(text: string): void;
}

/** V8's own default is six times that for each thread. */
const YOUNG_MB = 8;
/** A thread that was told to end and has not after so long will not. */
const STUCK_MS = 3000;
/** How many ended operations are remembered for what they print too late. */
const REMEMBERED = 64;

/** The host's side of one thread: asks, answers, and the end of it. */
export class WorkerThread implements WatchedThread {
  readonly loaded: Promise<LoadedModule>;
  /** Called when the last pending operation ended, and when the thread did. */
  onIdle: (() => void) | undefined;
  readonly #worker: Worker;
  readonly #options: ThreadOptions;
  readonly #watch: MemoryWatch;
  readonly #load = deferred<LoadedModule>();
  readonly #pending = new Map<number, PendingReply>();
  readonly #recent = new Map<number, Sinks>();
  readonly #exited = deferred<undefined>();
  #nextId = 1;
  #ended = false;
  #retired = false;
  #utilization: EventLoopUtilization | undefined;
  #atWork: EventLoopUtilization | undefined;
  /** What the thread told about its own end. */
  #farewell: Extract<FromThread, { type: 'exit' }> | undefined;

  constructor(options: ThreadOptions, watch: MemoryWatch) {
    this.#options = options;
    this.#watch = watch;
    const start: ThreadStart = { url: options.url, cache: options.cache, startsProcesses: options.startsProcesses };
    this.#worker = new Worker(entryUrl('toolThread'), {
      workerData: start,
      env: { ...options.env },
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // What the guards in the thread let through goes nowhere.
      stdin: false,
      stdout: true,
      stderr: true,
      // A small nursery: a worker has several threads, and what a call leaves behind is soon garbage.
      resourceLimits: { maxOldGenerationSizeMb: options.memoryMb * HARD_LIMIT, maxYoungGenerationSizeMb: YOUNG_MB },
    });
    options.onStart(
      new Promise((resolve) => {
        this.#worker.once('exit', () => {
          resolve();
        });
      }),
    );
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
    this.loaded = this.#load.promise;
    this.loaded.catch(() => undefined); // whoever waits for it is told; nobody may be waiting yet
    const loading = setTimeout(() => {
      this.#end(`its module did not load within ${LOAD_MS / 1000} s`, []);
    }, LOAD_MS);
    void this.loaded.then(
      () => {
        clearTimeout(loading);
      },
      () => {
        clearTimeout(loading);
      },
    );
    this.#worker.on('message', (message: unknown) => {
      this.#receive(message);
    });
    this.#worker.on('messageerror', () => {
      this.#end('it sent what cannot be read', []);
    });
    this.#worker.on('error', (error: Error & { code?: string }) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') this.tooMuch();
      else this.#end(`it failed: ${error.message}`, this.#suspects(), error.stack);
    });
    this.#worker.on('exit', (code) => {
      const told = this.#farewell;
      if (told !== undefined) this.#end(told.how, told.id === 0 ? this.#suspects() : [told.id], told.stack);
      else this.#end(`it exited with code ${code}`, this.#suspects());
      this.#exited.resolve(undefined);
    });
  }

  /** Operations under way. */
  get busy(): number {
    return this.#pending.size;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Something of an earlier operation still goes on in it, or may be broken: it should get no new ones. */
  get retired(): boolean {
    return this.#retired || this.#ended;
  }

  utilization(): number {
    const { since, now } = this.#measured(this.#utilization);
    this.#utilization = now;
    return since;
  }

  /** Share of time at work since this was last asked. */
  atWork(): number {
    const { since, now } = this.#measured(this.#atWork);
    this.#atWork = now;
    return since;
  }

  #measured(before: EventLoopUtilization | undefined): { since: number; now: EventLoopUtilization } {
    const now = this.#worker.performance.eventLoopUtilization();
    return { since: this.#worker.performance.eventLoopUtilization(now, before).utilization, now };
  }

  async memory(): Promise<number> {
    const heap = await this.#worker.getHeapStatistics();
    return heap.used_heap_size + heap.external_memory;
  }

  tooMuch(): void {
    this.#end(`it used more than its ${this.#options.memoryMb} MB of memory`, this.#suspects());
  }

  /** Throws UserError, ThreadLost or Aborted. Never later than `GRACE_MS` after the signal. */
  run(op: Operation, sinks: Sinks): Promise<Answer> {
    if (this.#ended) return Promise.reject(new ThreadLost('its thread has ended', false));
    if (sinks.signal.aborted) return Promise.reject(new AbortedCall());
    const id = this.#nextId++;
    const pending: PendingReply = {
      sinks,
      answer: deferred<Answer>(),
      onAbort: () => {
        this.#abort(id);
      },
      confirmed: false,
      grace: undefined,
      inspector: undefined,
    };
    if (this.#pending.size === 0) this.#watch.add(this);
    this.#pending.set(id, pending);
    sinks.signal.addEventListener('abort', pending.onAbort, { once: true });
    try {
      this.#post({
        type: 'run',
        id,
        op,
        ...(sinks.inspect === undefined ? {} : { inspect: true }),
        ...(sinks.children === undefined ? {} : { mark: sinks.children.mark }),
      });
    } catch (error) {
      // What cannot be cloned: only arguments of a scorer could be such.
      this.#settle(id)?.answer.reject(error);
    }
    return pending.answer.promise;
  }

  /** Ends the thread; what is pending is lost. Resolves when it is gone. */
  async end(): Promise<void> {
    this.#end('it was ended', []);
    await this.#exited.promise;
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #receive(raw: unknown): void {
    try {
      this.#handle(fromThread.parse(raw));
    } catch {
      this.#end('its module sent messages of its own to the worker (parentPort is not for tools)', this.#suspects());
    }
  }

  #handle(message: FromThread): void {
    switch (message.type) {
      case 'ready':
        this.#load.resolve({
          tools: readWireTools(message.tools),
          toolsText: message.tools,
          exports: message.exports,
          problems: message.problems,
        });
        return;
      case 'failed':
        this.#load.reject(new UserError(message.error));
        this.#end('its module failed to load', []);
        return;
      case 'done':
      case 'error': {
        this.#print(message.id, message.printed);
        const pending = this.#settle(message.id);
        if (pending === undefined) return;
        if (pending.sinks.signal.aborted) pending.answer.reject(new AbortedCall());
        else if (message.type === 'done') pending.answer.resolve(message);
        else pending.answer.reject(new UserError(message.error, message.changes));
        return;
      }
      case 'print':
        this.#print(message.id, message.printed);
        return;
      case 'progress':
        this.#pending.get(message.id)?.sinks.onProgress();
        return;
      case 'inspector': {
        const pending = this.#pending.get(message.id);
        if (pending?.sinks.inspect === undefined) return;
        this.#retired = true; // whoever debugs may leave anything behind
        pending.inspector = new Inspector(message.url, pending.sinks.inspect, this.#options.layMap());
        return;
      }
      case 'inspecting':
        this.#pending.get(message.id)?.inspector?.attached();
        return;
      case 'aborting': {
        const pending = this.#pending.get(message.id);
        if (pending !== undefined) pending.confirmed = true;
        return;
      }
      case 'late':
        this.#late(message.id, message.error);
        return;
      case 'child':
        (this.#pending.get(message.id)?.sinks ?? this.#recent.get(message.id))?.children?.tell(
          message.pid,
          message.alive,
        );
        return;
      case 'exit':
        this.#farewell = message;
        if (!this.#pending.has(message.id))
          this.#recent.get(message.id)?.onLate('err', `after the call had ended its module ${message.how}\n`);
        return;
    }
  }

  #print(id: number, printed: readonly ['out' | 'err', string][] | undefined): void {
    if (printed === undefined) return;
    const pending = this.#pending.get(id);
    const late = pending === undefined ? this.#recent.get(id) : undefined;
    for (const [stream, text] of printed) {
      if (pending !== undefined) pending.sinks.onLog(stream, text);
      else late?.onLate(stream, text);
    }
  }

  /** Thrown by a timer or a promise nobody waits for: fails the operation it came from, if that still runs. */
  #late(id: number, error: Thrown): void {
    // What broke here may break the next one too.
    this.#retired = true;
    const of = id === 0 ? this.#suspects()[0] : id;
    const pending = of === undefined ? undefined : this.#settle(of);
    if (pending !== undefined)
      pending.answer.reject(
        new UserError({
          ...error,
          message:
            `${error.message} (thrown outside of its promise: by a timer, an event or a promise that nothing ` +
            'awaits)',
        }),
      );
    else if (of !== undefined) {
      const { text } = this.#options.mapper.userStack(error.message, error.stack);
      this.#recent.get(of)?.onLate('err', `thrown after the call had ended: ${text}\n`);
    }
  }

  #abort(id: number): void {
    const pending = this.#pending.get(id);
    if (pending === undefined || this.#ended) return;
    this.#post({ type: 'abort', id });
    pending.grace = setTimeout(() => {
      this.#retired = true;
      if (!pending.confirmed) {
        this.#end('it did not let go of its thread', this.#aborted());
        return;
      }
      this.#settle(id)?.answer.reject(new AbortedCall());
    }, GRACE_MS);
  }

  /** Who is to blame when the thread does not say: who was alone in it, else nobody. */
  #suspects(): number[] {
    return this.#pending.size === 1 ? [...this.#pending.keys()] : [];
  }

  #aborted(): number[] {
    return [...this.#pending].filter(([, pending]) => pending.sinks.signal.aborted).map(([id]) => id);
  }

  #settle(id: number): PendingReply | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    this.#pending.delete(id);
    pending.sinks.signal.removeEventListener('abort', pending.onAbort);
    clearTimeout(pending.grace);
    pending.inspector?.close();
    this.#recent.set(id, pending.sinks);
    const oldest = id - REMEMBERED;
    this.#recent.delete(oldest);
    if (this.#pending.size === 0) {
      this.#watch.delete(this);
      queueMicrotask(() => {
        this.onIdle?.();
      });
    }
    return pending;
  }

  /** Ends the thread: `guilty` operations are why, the others only shared it. */
  #end(why: string, guilty: readonly number[], stack?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#load.reject(new ThreadLost(why, true, stack));
    const inspectors = [...this.#pending.values()].flatMap(({ inspector }) => inspector ?? []);
    for (const [id, pending] of [...this.#pending]) {
      this.#settle(id);
      if (pending.sinks.signal.aborted) pending.answer.reject(new AbortedCall());
      else pending.answer.reject(new ThreadLost(why, guilty.includes(id), stack));
    }
    this.#recent.clear();
    this.#watch.delete(this);
    void this.#worker.terminate();
    for (const inspector of inspectors) inspector.letEnd();
    // V8 leaves out the check for an end in some tight loops.
    const stuck = setTimeout(() => {
      this.#options.onStuck(`A thread of a tool's module could not be ended (${why}).`);
      this.#exited.resolve(undefined);
    }, STUCK_MS);
    void this.#exited.promise.then(() => {
      clearTimeout(stuck);
    });
    queueMicrotask(() => {
      this.onIdle?.();
    });
  }
}

/** Throws when it is not a list of tools. */
export function readWireTools(text: string): WireTool[] {
  return z.array(wireTool).parse(JSON.parse(text));
}
