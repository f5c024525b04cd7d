/** V8's limit for a thread, as a multiple of ours. */
export const HARD_LIMIT = 4;
const TICK_MS = 100;
/**
 * Minimum utilization since the last tick for a thread to be checked: a waiting thread does not allocate memory.
 */
const MIN_UTILIZATION = 0.2;

/** A thread as the watch sees it. */
export interface WatchedThread {
  /** Maximum bytes of heap and buffers. */
  readonly limitBytes: number;
  /** Returns the utilization since the last call. */
  utilization(): number;
  /** Returns the bytes of heap and buffers. Rejects if the thread is gone. */
  memory(): Promise<number>;
  outOfMemory(): void;
}

/**
 * Ends threads that use too much memory before V8's limit applies: V8 checks it only between allocations, and a large
 * allocation beyond it ends the whole process. Therefore, V8's limit is set far above this one.
 */
export class MemoryWatch {
  readonly #busy = new Set<WatchedThread>();
  /** Threads with a pending check. */
  readonly #checking = new Set<WatchedThread>();
  #timer: NodeJS.Timeout | undefined;

  /** Called when a thread starts to work. */
  add(thread: WatchedThread): void {
    this.#busy.add(thread);
    this.#timer ??= setInterval(() => {
      this.#tick();
    }, TICK_MS).unref();
  }

  /** Called when a thread becomes idle. */
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
      if (thread.utilization() < MIN_UTILIZATION || this.#checking.has(thread)) continue;
      this.#checking.add(thread);
      thread
        .memory()
        .then(
          (bytes) => {
            if (bytes > thread.limitBytes) thread.outOfMemory();
          },
          () => undefined,
        )
        .finally(() => this.#checking.delete(thread));
    }
  }
}
