import type { Deferred } from '../../common/abort.ts';
import { deferred } from '../../common/abort.ts';
import type { CallInspection } from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { Inspector } from './inspector.ts';
import type { ModuleProcess, ThreadEvents, ThreadLink } from './process/moduleProcess.ts';
import type { Asked, FromThread, LoadedModule, ModuleStart, Operation, Thrown, ToThread } from './protocol.ts';
import { fromThread, loadedModule } from './protocol.ts';
import { AbortedCall, ThreadLost, UserError } from './threadErrors.ts';
import type { StackMapper } from './userStack.ts';

/** Time for a call to end after an abort. */
const GRACE_MS = 300;
/** Time limit for loading a module. */
const LOAD_MS = 30_000;

export type Answer = Extract<FromThread, { type: 'done' }>;

export interface Sinks {
  readonly signal: AbortSignal;
  onLog(stream: 'out' | 'err', text: string): void;
  onProgress(): void;
  /** Asks a model. Absent for operations that must not. */
  ask?(question: Asked): Promise<string>;
  /** Called before the operation runs again in another thread because another operation ended this one. */
  onAgain?(): void;
  /** Runs a tool call in a JavaScript debugger. */
  readonly inspect?: CallInspection | undefined;
  /** Environment variable that identifies processes of the operation. */
  readonly mark?: string;
  /** Receives output and errors after the operation ended. */
  onLate(stream: 'out' | 'err', text: string): void;
}

interface PendingReply {
  /** Whether it can go directly to the thread: tool calls are JSON. */
  readonly direct: boolean;
  readonly sinks: Sinks;
  readonly answer: Deferred<Answer>;
  readonly onAbort: () => void;
  /** Whether the thread confirmed the abort, so that its event loop is responsive. */
  confirmed: boolean;
  grace: NodeJS.Timeout | undefined;
  inspector: Inspector | undefined;
}

export interface ThreadOptions extends ModuleStart {
  readonly env: Readonly<Record<string, string>>;
  readonly mapper: StackMapper;
  /** Memory limit for heap and buffers. */
  readonly memoryMb: number;
  /** Writes the module's source map where a debugger looks for it. */
  writeMap(): Promise<void>;
  /** Called if a thread cannot be terminated, so that only the end of its process helps. */
  onStuck(text: string): void;
}

/** A thread that has not exited this long after `terminate` never will. */
const STUCK_MS = 3000;
/** How many ended operations can still receive late output. */
const MAX_RECENT = 64;

/** Host side of one thread: requests, responses, and its end. */
export class WorkerThread {
  readonly loaded: Promise<LoadedModule>;
  /** Called when the last pending operation or the thread ends. */
  onIdle: (() => void) | undefined;
  readonly #process: ModuleProcess;
  readonly #thread: ThreadLink;
  readonly #options: ThreadOptions;
  readonly #load = deferred<LoadedModule>();
  readonly #pending = new Map<number, PendingReply>();
  readonly #recent = new Map<number, Sinks>();
  readonly #exited = deferred<undefined>();
  #nextId = 1;
  #ended = false;
  #retired = false;
  /** Reason that the thread reported before it exited. */
  #exitReport: Extract<FromThread, { type: 'exit' }> | undefined;

  constructor(options: ThreadOptions, process: ModuleProcess) {
    this.#options = options;
    this.#process = process;
    this.#thread = process.startThread(
      { url: options.url, cache: options.cache, startsProcesses: options.startsProcesses },
      { env: options.env, memoryMb: options.memoryMb },
      this.#events(),
    );
    this.loaded = this.#load.promise;
    this.loaded.catch(() => undefined); // reported to callers that await it; there may be none yet
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
  }

  /** Number of running operations. */
  get busy(): number {
    return this.#pending.size;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Whether an earlier operation may have broken the thread, so that it should not get new ones. */
  get retired(): boolean {
    return this.#retired || this.#ended;
  }

  /** Returns the utilization since the last call, from 0 to 1. */
  utilization(): Promise<number> {
    return this.#thread.measure();
  }

  /** Runs an operation. Throws UserError, ThreadLost, or AbortedCall, at most `GRACE_MS` after the signal. */
  run(op: Operation, sinks: Sinks): Promise<Answer> {
    if (this.#ended) return Promise.reject(new ThreadLost('its thread has exited', false));
    if (sinks.signal.aborted) return Promise.reject(new AbortedCall());
    const id = this.#nextId++;
    const direct = op.kind === 'call';
    const pending: PendingReply = {
      direct,
      sinks,
      answer: deferred<Answer>(),
      onAbort: () => {
        this.#abort(id);
      },
      confirmed: false,
      grace: undefined,
      inspector: undefined,
    };
    this.#pending.set(id, pending);
    sinks.signal.addEventListener('abort', pending.onAbort, { once: true });
    try {
      this.#post(
        {
          type: 'run',
          id,
          op,
          ...(sinks.inspect === undefined ? {} : { inspect: true }),
          ...(sinks.mark === undefined ? {} : { mark: sinks.mark }),
        },
        direct,
      );
    } catch (error) {
      // Values that cannot be cloned; only possible in arguments of a scorer.
      this.#settle(id)?.answer.reject(error);
    }
    return pending.answer.promise;
  }

  /** Terminates the thread and waits until it has exited. Pending operations fail. */
  async end(): Promise<void> {
    this.#end('it was ended', []);
    await this.#exited.promise;
  }

  #post(message: ToThread, direct: boolean): void {
    this.#thread.post(message, direct);
  }

  #events(): ThreadEvents {
    const pending = this.#pending;
    return {
      message: (message) => this.#receive(message),
      outOfMemory: () => this.#end(`it used more than its ${this.#options.memoryMb} MB of memory`, this.#suspects()),
      failed: (why, stack) => this.#end(why, this.#suspects(), stack),
      lost: (why, alone, cause) => this.#end(why, alone ? this.#suspects() : [], undefined, cause),
      exited: (code) => {
        const report = this.#exitReport;
        if (report !== undefined) this.#end(report.how, report.id === 0 ? this.#suspects() : [report.id], report.stack);
        else this.#end(`it exited with code ${code}`, this.#suspects());
        this.#exited.resolve(undefined);
      },
      retired: () => {
        this.#retired = true;
        if (pending.size === 0) this.onIdle?.();
      },
      get busy() {
        return pending.size;
      },
    };
  }

  #receive(raw: unknown): void {
    try {
      this.#handle(fromThread.parse(raw));
    } catch {
      this.#end('its module sent its own messages to the worker (tools must not use parentPort)', this.#suspects());
    }
  }

  #handle(message: FromThread): void {
    switch (message.type) {
      case 'ready':
        this.#load.resolve(loadedModule(message));
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
      case 'ask':
        void this.#ask(message);
        return;
      case 'inspector': {
        const pending = this.#pending.get(message.id);
        if (pending?.sinks.inspect === undefined) return;
        this.#retired = true; // debugging may leave any state behind
        pending.inspector = new Inspector(message.url, pending.sinks.inspect, this.#process, this.#options.writeMap());
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
        return; // handled by the process of the thread
      case 'exit':
        this.#exitReport = message;
        if (!this.#pending.has(message.id))
          this.#recent.get(message.id)?.onLate('err', `after the call ended, its module ${message.how}\n`);
        return;
    }
  }

  /** Answers a question of an operation, unless it has ended by then. */
  async #ask({ id, ask, model, messages, options }: Extract<FromThread, { type: 'ask' }>): Promise<void> {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    const { sinks, direct } = pending;
    let answer: { readonly text: string } | { readonly error: { readonly class: string; readonly message: string } };
    try {
      if (sinks.ask === undefined) throw new Error('Models cannot be asked here.');
      answer = { text: await sinks.ask({ model, messages, options }) };
    } catch (thrown) {
      const { class: of, message } = ClassedError.from(thrown, 'tool_error');
      answer = { error: { class: of, message } };
    }
    if (this.#pending.get(id) === pending && !this.#ended) this.#post({ type: 'answer', id, ask, ...answer }, direct);
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

  /** Handles an error in a timer or an unawaited promise: fails its operation, if that is still running. */
  #late(id: number, error: Thrown): void {
    // The thread may be broken for the next operation, too.
    this.#retired = true;
    const of = id === 0 ? this.#suspects()[0] : id;
    const pending = of === undefined ? undefined : this.#settle(of);
    if (pending !== undefined)
      pending.answer.reject(
        new UserError({
          ...error,
          message:
            `${error.message} (thrown outside the promise of the call: in a timer, an event handler, or a promise ` +
            'that is not awaited)',
        }),
      );
    else if (of !== undefined) {
      const { text } = this.#options.mapper.userStack(error.message, error.stack);
      this.#recent.get(of)?.onLate('err', `thrown after the call ended: ${text}\n`);
    }
  }

  #abort(id: number): void {
    const pending = this.#pending.get(id);
    if (pending === undefined || this.#ended) return;
    this.#post({ type: 'abort', id }, pending.direct);
    pending.grace = setTimeout(() => {
      this.#retired = true;
      if (!pending.confirmed) {
        this.#end('it blocked its thread', this.#aborted());
        return;
      }
      this.#settle(id)?.answer.reject(new AbortedCall());
    }, GRACE_MS);
  }

  /** If the thread does not report the cause, blames the only operation running in it, if there is just one. */
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
    const oldest = id - MAX_RECENT;
    this.#recent.delete(oldest);
    if (this.#pending.size === 0) {
      queueMicrotask(() => {
        this.onIdle?.();
      });
    }
    return pending;
  }

  /** Ends the thread. `guilty` operations caused it; the others only shared the thread. */
  #end(why: string, guilty: readonly number[], stack?: string, cause?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#load.reject(new ThreadLost(why, true, stack, cause));
    const inspectors = [...this.#pending.values()].flatMap(({ inspector }) => inspector ?? []);
    for (const [id, pending] of [...this.#pending]) {
      this.#settle(id);
      if (pending.sinks.signal.aborted) pending.answer.reject(new AbortedCall());
      else pending.answer.reject(new ThreadLost(why, guilty.includes(id), stack, cause));
    }
    this.#recent.clear();
    this.#thread.end();
    for (const inspector of inspectors) inspector.resume();
    // V8 does not check for termination in some tight loops.
    const stuck = setTimeout(() => {
      this.#thread.abandon();
      this.#options.onStuck(`Cannot terminate a thread of a tool module (${why}).`);
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
