/** V8's own limit for a thread, as a multiple of ours. */
export const HARD_LIMIT = 4;
const TICK_MS = 100;
/**
 * Share of time a thread must have been at work since the last tick to be looked at: one that waits allocates nothing.
 */
const AT_WORK = 0.2;

/** A thread as the watch sees it. */
export interface WatchedThread {
  /** Share of time at work since it was last asked. */
  utilization(): number;
  /** Bytes of heap and of buffers. Rejects when the thread is gone. */
  memory(): Promise<number>;
  tooMuch(): void;
}

/**
 * Ends threads that use too much memory, while that can still be done: V8's own limit for a thread is only looked at
 * between allocations, and a large one beyond it ends the whole process. So that limit is set far above this one.
 */
export class MemoryWatch {
  readonly #limit: number;
  readonly #busy = new Set<WatchedThread>();
  /** Asked and not answered yet. */
  readonly #asked = new Set<WatchedThread>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  /** The thread begins to work. */
  add(thread: WatchedThread): void {
    this.#busy.add(thread);
    this.#timer ??= setInterval(() => {
      this.#tick();
    }, TICK_MS).unref();
  }

  /** The thread has nothing to do. */
  delete(thread: WatchedThread): void {
    this.#busy.delete(thread);
  }

  #tick(): void {
    if (this.#busy.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const thread of this.#busy) {
      if (thread.utilization() < AT_WORK || this.#asked.has(thread)) continue;
      this.#asked.add(thread);
      thread
        .memory()
        .then(
          (bytes) => {
            if (bytes > this.#limit) thread.tooMuch();
          },
          () => undefined,
        )
        .finally(() => this.#asked.delete(thread));
    }
  }
}
