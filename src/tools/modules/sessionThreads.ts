import type { Deferred } from '../../common/abort.ts';
import { deferred } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { Starts } from './starts.ts';
import type { WorkerThread } from './workerThread.ts';
import { AbortedCall } from './workerThread.ts';

interface Taker {
  /** Nothing may have run in it before. */
  readonly fresh: boolean;
  readonly got: Deferred<WorkerThread>;
}

export interface SessionThreadsOptions {
  readonly starts: Starts;
  /** Starts a thread; it may still load. */
  start(): WorkerThread;
  /** What a taker is told when its thread could not load the module. */
  loadError(error: unknown): unknown;
}

/**
 * Threads that belong to one session each. Whoever waits gets the first thread there is, whether it was started or
 * given back: short sessions need far fewer threads than there are sessions at once.
 */
export class SessionThreads {
  readonly #options: SessionThreadsOptions;
  readonly #spare: WorkerThread[] = [];
  readonly #owned = new Set<WorkerThread>();
  readonly #loading = new Set<WorkerThread>();
  readonly #takers: Taker[] = [];
  #closed = false;

  constructor(options: SessionThreadsOptions) {
    this.#options = options;
  }

  /** `fresh`: one in which nothing ran before. Rejects when the module cannot be loaded, and with Aborted. */
  take(fresh: boolean, signal: AbortSignal): Promise<WorkerThread> {
    if (signal.aborted) return Promise.reject(new AbortedCall());
    if (this.#closed) return Promise.reject(stopped());
    const spare = fresh ? undefined : this.#takeSpare();
    if (spare !== undefined) {
      this.#owned.add(spare);
      return Promise.resolve(spare);
    }
    const taker: Taker = { fresh, got: deferred<WorkerThread>() };
    this.#takers.push(taker);
    const onAbort = (): void => {
      const at = this.#takers.indexOf(taker);
      if (at >= 0) this.#takers.splice(at, 1);
      taker.got.reject(new AbortedCall());
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const settled = (): void => {
      signal.removeEventListener('abort', onAbort);
    };
    taker.got.promise.then(settled, settled);
    this.#options.starts.ask(() => this.#start());
    return taker.got.promise;
  }

  /** Gives a thread back; `reusable`: another session may have it. */
  async give(thread: WorkerThread, reusable: boolean): Promise<void> {
    this.#owned.delete(thread);
    if (reusable && !thread.retired && thread.busy === 0 && !this.#closed) this.#serve(thread, (taker) => !taker.fresh);
    else await thread.end();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const taker of this.#takers.splice(0)) taker.got.reject(stopped());
    await Promise.all([...this.#spare, ...this.#owned, ...this.#loading].map((thread) => thread.end()));
  }

  #takeSpare(): WorkerThread | undefined {
    let thread = this.#spare.pop();
    while (thread?.retired === true) thread = this.#spare.pop();
    return thread;
  }

  /** Undefined: those that load already are enough for all who wait. */
  #start(): Promise<unknown> | undefined {
    if (this.#closed || this.#takers.length <= this.#loading.size) return undefined;
    const thread = this.#options.start();
    this.#loading.add(thread);
    return thread.loaded.then(
      () => {
        this.#loading.delete(thread);
        if (!this.#closed) this.#serve(thread, () => true);
      },
      (error: unknown) => {
        this.#loading.delete(thread);
        this.#takers.shift()?.got.reject(this.#options.loadError(error));
      },
    );
  }

  #serve(thread: WorkerThread, fits: (taker: Taker) => boolean): void {
    const at = this.#takers.findIndex(fits);
    const taker = at < 0 ? undefined : this.#takers.splice(at, 1)[0];
    if (taker === undefined) {
      this.#spare.push(thread);
      return;
    }
    this.#owned.add(thread);
    taker.got.resolve(thread);
  }
}

function stopped(): StudioError {
  return new StudioError('cancelled', 'The worker stops.');
}
