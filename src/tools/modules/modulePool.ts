import type { Deferred } from '../../common/abort.ts';
import { deferred } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { BundleProblem } from '../bundle.ts';
import type { MemoryWatch } from './memoryWatch.ts';
import type { Operation } from './protocol.ts';
import { SessionThreads } from './sessionThreads.ts';
import type { Starts } from './starts.ts';
import type { StackMapper } from './userStack.ts';
import type { Answer, LoadedModule, Sinks, ThreadOptions } from './workerThread.ts';
import { ThreadLost, UserError, WorkerThread } from './workerThread.ts';

/** A call waits this long for a thread of its own before another one is started, or shared. */
const PATIENCE_MS = 10;
/** Share of its time that a thread must have been at work for another thread to be of use. */
const AT_WORK = 0.5;
/** Calls that one thread gets at once, at most, while others could be started. */
const MAX_AT_ONCE = 16;
/** A pure call whose thread was ended by another call is made again this often. */
const RERUNS = 2;

interface Job {
  readonly op: Operation;
  readonly sinks: Sinks;
  /** May be made again when its thread is lost to another call. */
  readonly repeatable: boolean;
  readonly answer: Deferred<Answer>;
  runs: number;
}

export interface ModulePoolOptions extends ThreadOptions {
  /** As the user's files name it. */
  readonly file: string;
  /** Threads that calls without session share at most. */
  readonly threads: number;
  readonly watch: MemoryWatch;
  readonly starts: Starts;
}

/**
 * The threads of one module in one worker. Calls without a session have a thread for themselves until one has to wait
 * for its turn: where the threads are at work another one is started; where they only wait themselves, for this
 * process or for something outside, calls share them, for a thread costs as much as some thousand quick calls.
 * Sessions (worlds, tools with state) own theirs.
 */
export class ModulePool {
  readonly file: string;
  readonly mapper: StackMapper;
  readonly #options: ModulePoolOptions;
  readonly #shared = new Set<WorkerThread>();
  /** Loaded, of the shared ones. */
  readonly #ready = new Set<WorkerThread>();
  readonly #sessions: SessionThreads;
  readonly #waiting: Job[] = [];
  #patience: NodeJS.Timeout | undefined;
  /** Calls that a thread may have at once. */
  #atOnce = 1;
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

  /** What the module exports. Loads it at first use. Throws StudioError `config`. */
  load(): Promise<LoadedModule> {
    this.#loaded ??= this.#startShared().loaded.catch((error: unknown) => {
      throw this.#loadError(error);
    });
    return this.#loaded;
  }

  /** Runs an operation on a thread that keeps nothing between calls. Throws UserError, ThreadLost or Aborted. */
  run(op: Operation, sinks: Sinks, repeatable: boolean): Promise<Answer> {
    const job: Job = { op, sinks, repeatable, answer: deferred<Answer>(), runs: 0 };
    this.#waiting.push(job);
    this.#pump();
    return job.answer.promise;
  }

  /** Runs an operation on a new thread that ends with it. Throws as `run` does, and StudioError `config`. */
  async runAlone(op: Operation, sinks: Sinks): Promise<Answer> {
    const thread = await this.take(true, sinks.signal);
    try {
      return await thread.run(op, sinks);
    } finally {
      await this.give(thread, false);
    }
  }

  /**
   * A thread for one session alone. `fresh`: one in which nothing ran before. Throws StudioError `config`, or Aborted.
   */
  take(fresh: boolean, signal: AbortSignal): Promise<WorkerThread> {
    return this.#sessions.take(fresh, signal);
  }

  /** Gives a session's thread back; `reusable`: the next session may have it. */
  give(thread: WorkerThread, reusable: boolean): Promise<void> {
    return this.#sessions.give(thread, reusable);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#patience);
    for (const job of this.#waiting.splice(0)) job.answer.reject(new ThreadLost('the worker stops', false));
    await Promise.all([this.#sessions.close(), ...Array.from(this.#shared, (thread) => thread.end())]);
  }

  #start(): WorkerThread {
    if (this.#closed) throw new StudioError('cancelled', 'The worker stops.');
    return new WorkerThread(this.#options, this.#options.watch);
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
        thread.atWork(); // loading is not its work
        this.#pump();
      },
      (error: unknown) => {
        this.#remove(thread);
        // Without any thread that loads, nobody can answer those who wait.
        if (this.#shared.size > 0) return;
        for (const job of this.#waiting.splice(0)) job.answer.reject(this.#loadError(error));
      },
    );
    return thread;
  }

  #remove(thread: WorkerThread): void {
    this.#atOnce = 1; // whoever broke it shall not break it for others again
    this.#shared.delete(thread);
    this.#ready.delete(thread);
    void thread.end();
  }

  #pump(): void {
    while (this.#waiting.length > 0) {
      const free = this.#pick((thread) => thread.busy < this.#atOnce);
      if (free === undefined) break;
      this.#assign(free);
    }
    if (this.#waiting.length === 0 || this.#patience !== undefined || this.#closed) return;
    if (this.#active() === 0) this.#startShared();
    this.#patience = setTimeout(() => {
      this.#patience = undefined;
      this.#grow();
    }, PATIENCE_MS);
  }

  /** No thread came free in time: one more, or two calls on one. */
  #grow(): void {
    if (this.#waiting.length === 0) return;
    const idle = [...this.#ready].some((thread) => !thread.retired && thread.atWork() < AT_WORK);
    if (idle && this.#atOnce < MAX_AT_ONCE) this.#atOnce *= 2;
    else if (this.#active() < this.#options.threads) {
      // One that is still loading will come free; more than one at a time would only slow each other down.
      if (this.#active() === this.#loadedCount()) this.#startShared();
    } else {
      const least = this.#pick(() => true);
      if (least !== undefined) this.#assign(least);
    }
    this.#pump();
  }

  #active(): number {
    return [...this.#shared].filter((thread) => !thread.retired).length;
  }

  #loadedCount(): number {
    return [...this.#ready].filter((thread) => !thread.retired).length;
  }

  /** The least busy of those that fit. */
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
        const innocent = error instanceof ThreadLost && !error.guilty;
        if (innocent && job.repeatable && job.runs <= RERUNS && !this.#closed) {
          this.#waiting.push(job);
          this.#pump();
        } else {
          job.answer.reject(error);
        }
      },
    );
  }

  #loadError(error: unknown): StudioError {
    if (StudioError.is(error)) return error;
    const thrown = error instanceof UserError ? error.thrown : undefined;
    const stack = thrown?.stack ?? (error instanceof ThreadLost ? error.threadStack : undefined);
    const message = error instanceof Error ? error.message : String(error);
    const { text, place } = this.mapper.userStack(message, stack);
    const at = place === undefined ? this.file : `${place.file}:${place.line}:${place.column}`;
    const told = `the module could not be loaded: ${message}`;
    const problem: BundleProblem = { ...(place ?? { file: this.file, line: 1, column: 1 }), message: told };
    return new StudioError('config', `${at}: ${told}`, {
      cause: error,
      details: { stack: text, place, problems: [problem] },
    });
  }
}
