import type { Deferred } from '../../common/abort.ts';
import { deferred } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { Starts } from './starts.ts';
import { AbortedCall } from './threadErrors.ts';
import type { WorkerThread } from './workerThread.ts';

interface PendingSession {
  /** Requires a thread that has not been used before. */
  readonly fresh: boolean;
  readonly thread: Deferred<WorkerThread>;
}

interface SessionThreadsOptions {
  readonly starts: Starts;
  /** Starts a thread, which may still be loading. */
  start(): WorkerThread;
  /** Returns the error for a session whose thread could not load the module. */
  loadError(error: unknown): unknown;
}

/**
 * Threads that belong to one session each. Waiting sessions get the first available thread, new or returned: short
 * sessions need far fewer threads than there are concurrent sessions.
 */
export class SessionThreads {
  readonly #options: SessionThreadsOptions;
  readonly #idle: WorkerThread[] = [];
  readonly #owned = new Set<WorkerThread>();
  readonly #loading = new Set<WorkerThread>();
  readonly #pending: PendingSession[] = [];
  #closed = false;

  constructor(options: SessionThreadsOptions) {
    this.#options = options;
  }

  /**
   * Returns a thread; `fresh`: one that has not been used before. Rejects if the module cannot be loaded, or with
   * AbortedCall.
   */
  acquire(fresh: boolean, signal: AbortSignal): Promise<WorkerThread> {
    if (signal.aborted) return Promise.reject(new AbortedCall());
    if (this.#closed) return Promise.reject(stopped());
    const idle = fresh ? undefined : this.#takeIdle();
    if (idle !== undefined) {
      this.#owned.add(idle);
      return Promise.resolve(idle);
    }
    const pending: PendingSession = { fresh, thread: deferred<WorkerThread>() };
    this.#pending.push(pending);
    const onAbort = (): void => {
      const at = this.#pending.indexOf(pending);
      if (at >= 0) this.#pending.splice(at, 1);
      pending.thread.reject(new AbortedCall());
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const settled = (): void => {
      signal.removeEventListener('abort', onAbort);
    };
    pending.thread.promise.then(settled, settled);
    this.#options.starts.schedule(() => this.#start());
    return pending.thread.promise;
  }

  /** Returns a thread to the pool; `reusable`: another session may use it. */
  async release(thread: WorkerThread, reusable: boolean): Promise<void> {
    this.#owned.delete(thread);
    if (reusable && !thread.retired && thread.busy === 0 && !this.#closed)
      this.#serve(thread, (pending) => !pending.fresh);
    else await thread.end();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const pending of this.#pending.splice(0)) pending.thread.reject(stopped());
    await Promise.all([...this.#idle, ...this.#owned, ...this.#loading].map((thread) => thread.end()));
  }

  #takeIdle(): WorkerThread | undefined {
    let thread = this.#idle.pop();
    while (thread?.retired === true) thread = this.#idle.pop();
    return thread;
  }

  /** Starts a thread; returns undefined if the loading ones are enough for all waiting sessions. */
  #start(): Promise<unknown> | undefined {
    if (this.#closed || this.#pending.length <= this.#loading.size) return undefined;
    const thread = this.#options.start();
    this.#loading.add(thread);
    return thread.loaded.then(
      () => {
        this.#loading.delete(thread);
        if (!this.#closed) this.#serve(thread, () => true);
      },
      (error: unknown) => {
        this.#loading.delete(thread);
        this.#pending.shift()?.thread.reject(this.#options.loadError(error));
      },
    );
  }

  #serve(thread: WorkerThread, fits: (pending: PendingSession) => boolean): void {
    const at = this.#pending.findIndex(fits);
    const pending = at < 0 ? undefined : this.#pending.splice(at, 1)[0];
    if (pending === undefined) {
      this.#idle.push(thread);
      return;
    }
    this.#owned.add(thread);
    pending.thread.resolve(thread);
  }
}

function stopped(): StudioError {
  return new StudioError('cancelled', 'The worker is shutting down.');
}
