import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Deferred } from '../../common/abort.ts';
import { deferred } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import { shortageOf } from '../../common/shortage.ts';
import type { SubmittedSandbox } from '../../config/submission.ts';
import type { BundleProblem } from '../bundle.ts';
import type { ModuleProcess } from './process/moduleProcess.ts';
import type { LoadedModule, Operation } from './protocol.ts';
import { SessionThreads } from './sessionThreads.ts';
import type { Starts } from './starts.ts';
import { ThreadLost, UserError } from './threadErrors.ts';
import type { StackMapper } from './userStack.ts';
import type { Answer, Sinks, ThreadOptions } from './workerThread.ts';
import { WorkerThread } from './workerThread.ts';

/** How long a call waits for a free thread before another one is started or shared. */
const PATIENCE_MS = 10;
/** Minimum utilization of all threads for another thread to be useful. */
const MIN_UTILIZATION = 0.5;
/** Maximum number of concurrent calls per thread while more threads could be started. */
const MAX_CALLS_PER_THREAD = 16;
/**
 * How often a pure call runs on shared threads if other calls end them. Then it runs on a thread of its own, which no
 * other call can end.
 */
const SHARED_RUNS = 2;

interface Job {
  readonly op: Operation;
  readonly sinks: Sinks;
  /** Whether it can be repeated if another call ends its thread. */
  readonly repeatable: boolean;
  readonly answer: Deferred<Answer>;
  runs: number;
}

interface ModulePoolOptions extends ThreadOptions {
  /** Path relative to the workspace root. */
  readonly file: string;
  /** Maximum number of threads for calls without a session. */
  readonly threads: number;
  /** Returns the process for a new thread. */
  readonly process: () => ModuleProcess;
  /** The sandbox of its processes, where there is one. */
  readonly sandbox: SubmittedSandbox;
  readonly isSandboxed: () => boolean;
  /** Ends the processes of an owner that modules started. */
  readonly endProcesses: (owner: string) => Promise<void>;
  readonly starts: Starts;
}

/**
 * The threads of one module in one worker. A call without a session gets a free thread. If it has to wait, and all
 * threads are busy computing, another thread is started; if they only wait for something, calls share them, because a
 * thread costs as much as thousands of quick calls. Sessions (worlds, tools with state) have their own threads.
 */
export class ModulePool {
  readonly file: string;
  readonly mapper: StackMapper;
  readonly #options: ModulePoolOptions;
  readonly #shared = new Set<WorkerThread>();
  /** Shared threads that have loaded. */
  readonly #ready = new Set<WorkerThread>();
  readonly #sessions: SessionThreads;
  readonly #waiting: Job[] = [];
  /** Names of exports that ended a shared thread. Their calls run on threads of their own. */
  readonly #apart = new Set<string>();
  /**
   * By export: calls that must not be repeated, and that another one's end of their thread lost. As many calls run on
   * threads of their own, so that the retry of a rollout does not meet the next tool that ends threads.
   */
  readonly #lost = new Map<string, number>();
  #growTimer: NodeJS.Timeout | undefined;
  /** Current number of concurrent calls per thread. */
  #callsPerThread = 1;
  #loaded: Promise<LoadedModule> | undefined;
  #closed = false;

  constructor(options: ModulePoolOptions) {
    this.#options = options;
    this.file = options.file;
    this.mapper = options.mapper;
    this.#sessions = new SessionThreads({
      starts: options.starts,
      start: () => this.#start(),
      loadError: (error) => this.#loadError(error),
    });
  }

  /** Loads the module on first use and returns its exports. Throws StudioError `config`. */
  load(): Promise<LoadedModule> {
    this.#loaded ??= this.#startShared().loaded.catch((error: unknown) => {
      throw this.#loadError(error);
    });
    return this.#loaded;
  }

  /**
   * Runs an operation on a shared thread, or on one of its own if its export ended one. Throws UserError, ThreadLost,
   * or AbortedCall.
   */
  run(op: Operation, sinks: Sinks, repeatable: boolean): Promise<Answer> {
    if (this.#runsAlone(exportOf(op))) return this.runAlone(op, sinks);
    const job: Job = { op, sinks, repeatable, answer: deferred<Answer>(), runs: 0 };
    this.#waiting.push(job);
    this.#pump();
    return job.answer.promise;
  }

  /** Runs an operation on a new thread and then ends it. Throws as `run` does, and StudioError `config`. */
  async runAlone(op: Operation, sinks: Sinks): Promise<Answer> {
    const thread = await this.acquire(true, sinks.signal);
    try {
      return await thread.run(op, sinks);
    } finally {
      await this.release(thread, false);
    }
  }

  /**
   * Returns a thread for one session. `fresh`: one that has not been used before. Throws StudioError `config`, or
   * AbortedCall.
   */
  acquire(fresh: boolean, signal: AbortSignal): Promise<WorkerThread> {
    return this.#sessions.acquire(fresh, signal);
  }

  /** Returns the thread of a session to the pool; `reusable`: another session may use it. */
  release(thread: WorkerThread, reusable: boolean): Promise<void> {
    return this.#sessions.release(thread, reusable);
  }

  /** The sandbox that it runs in; undefined if there is none. */
  get sandbox(): SubmittedSandbox | undefined {
    const { sandbox, isSandboxed } = this.#options;
    return sandbox.mode !== 'off' && isSandboxed() ? sandbox : undefined;
  }

  /** Ends the processes of an owner that the module started. */
  async endProcesses(owner: string): Promise<void> {
    if (this.#options.startsProcesses) await this.#options.endProcesses(owner);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#growTimer);
    for (const job of this.#waiting.splice(0)) job.answer.reject(new ThreadLost('the worker is shutting down', false));
    await Promise.all([this.#sessions.close(), ...Array.from(this.#shared, (thread) => thread.end())]);
  }

  #start(): WorkerThread {
    if (this.#closed) throw new StudioError('cancelled', 'The worker is shutting down.');
    return new WorkerThread(this.#options, this.#options.process());
  }

  #startShared(): WorkerThread {
    const thread = this.#start();
    this.#shared.add(thread);
    thread.onIdle = () => {
      if (thread.retired) this.#remove(thread);
      this.#pump();
    };
    thread.loaded.then(
      () => {
        this.#ready.add(thread);
        this.#pump();
      },
      (error: unknown) => {
        this.#remove(thread);
        // If no thread can load, fail all waiting calls.
        if (this.#shared.size > 0) return;
        for (const job of this.#waiting.splice(0)) job.answer.reject(this.#loadError(error));
      },
    );
    return thread;
  }

  #remove(thread: WorkerThread): void {
    this.#callsPerThread = 1; // the call that broke it should not affect others again
    this.#shared.delete(thread);
    this.#ready.delete(thread);
    void thread.end();
  }

  #pump(): void {
    while (this.#waiting.length > 0) {
      const free = this.#pick((thread) => thread.busy < this.#callsPerThread);
      if (free === undefined) break;
      this.#assign(free);
    }
    if (this.#waiting.length === 0 || this.#growTimer !== undefined || this.#closed) return;
    if (this.#active() === 0) this.#startShared();
    this.#growTimer = setTimeout(() => {
      void this.#grow().finally(() => {
        this.#growTimer = undefined;
        this.#pump();
      });
    }, PATIENCE_MS);
  }

  /** Called if no thread became free in time: starts another one, or lets threads share calls. */
  async #grow(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const ready = [...this.#ready].filter((thread) => !thread.retired);
    const utilization = await Promise.all(ready.map((thread) => thread.utilization()));
    const idle = utilization.some((share) => share < MIN_UTILIZATION);
    if (this.#waiting.length === 0 || this.#closed) return;
    if (idle && this.#callsPerThread < MAX_CALLS_PER_THREAD) this.#callsPerThread *= 2;
    else if (this.#active() < this.#options.threads) {
      // Starts one thread at a time, because loading in parallel is not faster.
      if (this.#active() === this.#loadedCount()) this.#startShared();
    } else {
      const leastBusy = this.#pick(() => true);
      if (leastBusy !== undefined) this.#assign(leastBusy);
    }
  }

  #active(): number {
    return [...this.#shared].filter((thread) => !thread.retired).length;
  }

  #loadedCount(): number {
    return [...this.#ready].filter((thread) => !thread.retired).length;
  }

  /** Returns the least busy matching thread. */
  #pick(fits: (thread: WorkerThread) => boolean): WorkerThread | undefined {
    let best: WorkerThread | undefined;
    for (const thread of this.#ready) {
      if (!thread.retired && fits(thread) && (best === undefined || thread.busy < best.busy)) best = thread;
    }
    return best;
  }

  #assign(thread: WorkerThread): void {
    const job = this.#waiting.shift();
    if (job === undefined) return;
    job.runs += 1;
    thread.run(job.op, job.sinks).then(
      (answer) => {
        job.answer.resolve(answer);
      },
      (error: unknown) => {
        const isInnocent = error instanceof ThreadLost && !error.guilty;
        if (!isInnocent || !job.repeatable || this.#closed) {
          if (error instanceof ThreadLost) this.#remember(exportOf(job.op), error.guilty);
          job.answer.reject(error);
          return;
        }
        job.sinks.onAgain?.();
        if (job.runs < SHARED_RUNS) {
          this.#waiting.push(job);
          this.#pump();
        } else {
          this.runAlone(job.op, job.sinks).then(
            (answer) => job.answer.resolve(answer),
            (failure: unknown) => job.answer.reject(failure),
          );
        }
      },
    );
  }

  #remember(name: string, guilty: boolean): void {
    if (guilty) this.#apart.add(name);
    else this.#lost.set(name, (this.#lost.get(name) ?? 0) + 1);
  }

  #runsAlone(name: string): boolean {
    const lost = this.#lost.get(name) ?? 0;
    if (lost > 1) this.#lost.set(name, lost - 1);
    else this.#lost.delete(name);
    return lost > 0 || this.#apart.has(name);
  }

  #loadError(error: unknown): StudioError {
    if (StudioError.is(error)) return error;
    const thrown = error instanceof UserError ? error.thrown : undefined;
    const stack = thrown?.stack ?? (error instanceof ThreadLost ? error.threadStack : undefined);
    const message = error instanceof Error ? error.message : String(error);
    const { text, place } = this.mapper.userStack(message, stack);
    const at = place === undefined ? this.file : `${place.file}:${place.line}:${place.column}`;
    const description = `cannot load the module: ${message}`;
    // Neither is a fault of the module: a shortage, and that the worker's copy of it is gone.
    if (shortageOf(error) !== undefined || !existsSync(fileURLToPath(this.#options.url)))
      return new StudioError('unavailable', `${this.file}: ${description}`, { cause: error });
    const problem: BundleProblem = { ...(place ?? { file: this.file, line: 1, column: 1 }), message: description };
    return new StudioError('config', `${at}: ${description}`, {
      cause: error,
      details: { stack: text, place, problems: [problem] },
    });
  }
}

/** Returns the name of the export that an operation calls. */
function exportOf(op: Operation): string {
  return 'name' in op ? op.name : op.kind;
}
