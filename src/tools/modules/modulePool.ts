import { deferred } from '../../common/abort.ts';
import type { Deferred } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { MemoryWatch } from './memoryWatch.ts';
import type { Operation } from './protocol.ts';
import type { StackMapper } from './userStack.ts';
import { ThreadLost, UserError, WorkerThread } from './workerThread.ts';
import type { Answer, Loaded, Sinks, ThreadOptions } from './workerThread.ts';

/** A call waits this long for a thread of its own before another one is started, or shared. */
const PATIENCE_MS = 10;
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
}

/**
 * The threads of one module in one worker. Calls without a session get a thread for themselves as long as there are
 * enough; beyond that they share. Sessions (worlds, tools with state) own theirs.
 */
export class ModulePool {
  readonly file: string;
  readonly mapper: StackMapper;
  readonly #options: ModulePoolOptions;
  readonly #shared = new Set<WorkerThread>();
  /** Loaded, of the shared ones. */
  readonly #ready = new Set<WorkerThread>();
  readonly #spare: WorkerThread[] = [];
  readonly #owned = new Set<WorkerThread>();
  readonly #waiting: Job[] = [];
  #patience: NodeJS.Timeout | undefined;
  #loaded: Promise<Loaded> | undefined;
  #closed = false;

  constructor(options: ModulePoolOptions) {
    this.#options = options;
    this.file = options.file;
    this.mapper = options.mapper;
  }

  /** What the module exports. Loads it at first use. Throws StudioError `config`. */
  load(): Promise<Loaded> {
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

  /** A thread for one session alone. `fresh`: one in which nothing ran before. Throws StudioError `config`. */
  async take(fresh: boolean): Promise<WorkerThread> {
    let thread = fresh ? undefined : this.#spare.pop();
    while (thread?.retired === true) thread = this.#spare.pop();
    if (thread !== undefined) {
      this.#owned.add(thread);
      return thread;
    }
    const started = this.#start();
    this.#owned.add(started);
    try {
      await started.loaded;
      return started;
    } catch (error) {
      this.#owned.delete(started);
      throw this.#loadError(error);
    }
  }

  /** Gives a session's thread back; `reusable`: the next session may have it. */
  async give(thread: WorkerThread, reusable: boolean): Promise<void> {
    this.#owned.delete(thread);
    if (reusable && !thread.retired && thread.busy === 0 && !this.#closed) this.#spare.push(thread);
    else await thread.end();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#patience);
    const threads = [...this.#shared, ...this.#spare, ...this.#owned];
    for (const job of this.#waiting.splice(0)) job.answer.reject(new ThreadLost('the worker stops', false));
    await Promise.all(threads.map((thread) => thread.end()));
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
    thread.loaded.then(() => {
      this.#ready.add(thread);
      this.#pump();
    }, (error: unknown) => {
      this.#remove(thread);
      // Without any thread that loads, nobody can answer those who wait.
      if (this.#shared.size > 0) return;
      for (const job of this.#waiting.splice(0)) job.answer.reject(this.#loadError(error));
    });
    return thread;
  }

  #remove(thread: WorkerThread): void {
    this.#shared.delete(thread);
    this.#ready.delete(thread);
    void thread.end();
  }

  #pump(): void {
    while (this.#waiting.length > 0) {
      const free = this.#pick((thread) => thread.busy === 0);
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

  /** No thread came free in time: one more, or where there are enough, two calls on one. */
  #grow(): void {
    if (this.#waiting.length === 0) return;
    if (this.#active() < this.#options.threads) {
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
    thread.run(job.op, job.sinks).then((answer) => { job.answer.resolve(answer); }, (error: unknown) => {
      const innocent = error instanceof ThreadLost && !error.guilty;
      if (innocent && job.repeatable && job.runs <= RERUNS && !this.#closed) {
        this.#waiting.push(job);
        this.#pump();
      } else {
        job.answer.reject(error);
      }
    });
  }

  #loadError(error: unknown): StudioError {
    if (StudioError.is(error)) return error;
    const thrown = error instanceof UserError ? error.thrown : undefined;
    const stack = thrown?.stack ?? (error instanceof ThreadLost ? error.threadStack : undefined);
    const message = error instanceof Error ? error.message : String(error);
    const { text, place } = this.mapper.userStack(message, stack);
    const at = place === undefined ? this.file : `${place.file}:${place.line}:${place.column}`;
    return new StudioError('config', `${at}: the module could not be loaded: ${message}`, { cause: error, details: { stack: text, place } });
  }
}
