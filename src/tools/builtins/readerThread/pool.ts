/**
 * Parses documents in separate threads, because untrusted documents may take any amount of time and memory. If a call
 * is aborted or uses too much memory, only its thread is terminated; the worker and its other rollouts continue.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { entryUrl } from '../../../common/entries.ts';
import type { ToolOutcome } from '../../../rollout/ports.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import { abortedError } from '../../aborted.ts';
import { HARD_LIMIT, MemoryWatch, type WatchedThread } from '../../memoryWatch.ts';
import type { BuiltinTool } from '../builtinHost.ts';
import type { Job, Reply } from './protocol.ts';

const MEMORY_MB = 1024;
const YOUNG_MB = 32;
const MAX_THREADS = Math.max(2, availableParallelism());
/** How long an idle thread is kept. */
const IDLE_MS = 30_000;

interface Idle {
  readonly thread: Worker;
  readonly timer: NodeJS.Timeout;
}

const watch = new MemoryWatch();
const idle: Idle[] = [];
const waiting: (() => void)[] = [];
let threads = 0;

/** Wraps a tool so that it runs in a reader thread. */
export function inReaderThread(
  set: Extract<Job, { kind: 'tool' }>['set'],
  cwd: string,
  { spec }: BuiltinTool,
): BuiltinTool {
  return { spec, run: (args, { signal }) => runInThread({ kind: 'tool', set, name: spec.name, cwd, args }, signal) };
}

/** Runs a job in a thread. Throws ClassedError: the error of the job, or the reason of the signal. */
export async function runInThread(job: Job, signal: AbortSignal): Promise<ToolOutcome> {
  const thread = await free(signal);
  let reply: Reply;
  try {
    reply = await answer(thread, job, signal);
  } catch (error) {
    await thread.terminate();
    release();
    throw error;
  }
  keep(thread);
  if ('error' in reply) throw new ClassedError(reply.error.class, reply.error.message);
  const { outcome } = reply;
  // It arrives as a plain Uint8Array.
  return outcome.full === undefined ? outcome : { ...outcome, full: Buffer.from(outcome.full) };
}

function answer(thread: Worker, job: Job, signal: AbortSignal): Promise<Reply> {
  const listening = new AbortController();
  return new Promise<Reply>((resolve, reject) => {
    const on = (event: 'message' | 'error' | 'exit', act: (value: unknown) => void): void => {
      thread.on(event, act);
      listening.signal.addEventListener(
        'abort',
        () => {
          thread.off(event, act);
        },
        { once: true },
      );
    };
    on('message', (reply) => {
      resolve(reply as Reply);
    }); // sent by our own thread
    on('error', (error) => {
      reject(readingError(error));
    });
    on('exit', () => {
      reject(readingError(undefined));
    });
    signal.addEventListener(
      'abort',
      () => {
        reject(abortedError(signal));
      },
      { once: true, signal: listening.signal },
    );
    const watched = watchedThread(thread, () => {
      reject(outOfMemory());
    });
    watch.add(watched);
    listening.signal.addEventListener(
      'abort',
      () => {
        watch.delete(watched);
      },
      { once: true },
    );
    thread.postMessage(job);
  }).finally(() => {
    listening.abort();
  });
}

function watchedThread(thread: Worker, onOutOfMemory: () => void): WatchedThread {
  let before = thread.performance.eventLoopUtilization();
  return {
    limitBytes: MEMORY_MB * 1024 * 1024,
    utilization: () => {
      const now = thread.performance.eventLoopUtilization();
      const { utilization } = thread.performance.eventLoopUtilization(now, before);
      before = now;
      return utilization;
    },
    memory: async () => {
      const heap = await thread.getHeapStatistics();
      return heap.used_heap_size + heap.external_memory;
    },
    outOfMemory: onOutOfMemory,
  };
}

function outOfMemory(cause?: Error): ClassedError {
  return new ClassedError('tool_error', `Reading this takes more than ${MEMORY_MB} MB of memory.`, { cause });
}

function readingError(error: unknown): ClassedError {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') return outOfMemory(error);
  return new ClassedError(
    'tool_error',
    `Reading failed: ${error instanceof Error ? error.message : 'the reader thread exited'}.`,
    { cause: error },
  );
}

/** Returns an idle or new thread; waits if all threads are busy. */
async function free(signal: AbortSignal): Promise<Worker> {
  for (;;) {
    if (signal.aborted) throw abortedError(signal);
    const idleThread = idle.pop();
    if (idleThread !== undefined) {
      clearTimeout(idleThread.timer);
      idleThread.thread.ref();
      return idleThread.thread;
    }
    if (threads < MAX_THREADS) {
      threads++;
      const thread = new Worker(entryUrl('readerThread'), {
        env: {},
        execArgv: ['--disable-warning=ExperimentalWarning'],
        // Output of libraries is discarded unread: reading it would keep the process alive.
        stdin: false,
        stdout: true,
        stderr: true,
        resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB * HARD_LIMIT, maxYoungGenerationSizeMb: YOUNG_MB },
      });
      thread.on('error', () => undefined); // reported by `answer`
      return thread;
    }
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      signal.addEventListener(
        'abort',
        () => {
          resolve();
        },
        { once: true },
      );
    });
  }
}

function keep(thread: Worker): void {
  thread.unref();
  const timer = setTimeout(() => {
    idle.splice(
      idle.findIndex((one) => one.thread === thread),
      1,
    );
    release();
    void thread.terminate();
  }, IDLE_MS).unref();
  idle.push({ thread, timer });
  wakeAll();
}

function release(): void {
  threads--;
  wakeAll();
}

/** Wakes all waiting calls, because some may have been aborted. */
function wakeAll(): void {
  for (const wake of waiting.splice(0)) wake();
}
