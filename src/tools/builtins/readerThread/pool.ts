/**
 * Reading in threads beside: what others have written may take any time and any memory to go through. A thread ends
 * with the call that is over, and with the memory it may have; the worker and its other rollouts go on meanwhile.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { entryUrl } from '../../../common/entries.ts';
import type { ToolOutcome } from '../../../rollout/ports.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import { abortedError } from '../../aborted.ts';
import { HARD_LIMIT, MemoryWatch, type WatchedThread } from '../../modules/memoryWatch.ts';
import type { BuiltinTool } from '../builtinHost.ts';
import type { Job, Reply } from './protocol.ts';

const MEMORY_MB = 1024;
const YOUNG_MB = 32;
const MAX_THREADS = Math.max(2, availableParallelism());
/** A thread that has nothing to do is kept for so long. */
const IDLE_MS = 30_000;

interface Idle {
  readonly thread: Worker;
  readonly timer: NodeJS.Timeout;
}

const watch = new MemoryWatch(MEMORY_MB * 1024 * 1024);
const idle: Idle[] = [];
const waiting: (() => void)[] = [];
let threads = 0;

/** A tool that does its work in such a thread. */
export function beside(set: Extract<Job, { kind: 'tool' }>['set'], cwd: string, { spec }: BuiltinTool): BuiltinTool {
  return { spec, run: (args, { signal }) => readBeside({ kind: 'tool', set, name: spec.name, cwd, args }, signal) };
}

/** Throws ClassedError: that of the job, or as the signal says. */
export async function readBeside(job: Job, signal: AbortSignal): Promise<ToolOutcome> {
  const thread = await free(signal);
  let reply: Reply;
  try {
    reply = await answer(thread, job, signal);
  } catch (error) {
    await thread.terminate();
    left();
    throw error;
  }
  keep(thread);
  if ('error' in reply) throw new ClassedError(reply.error.class, reply.error.message);
  const { outcome } = reply;
  // It comes as a plain array of bytes.
  return outcome.full === undefined ? outcome : { ...outcome, full: Buffer.from(outcome.full) };
}

function answer(thread: Worker, job: Job, signal: AbortSignal): Promise<Reply> {
  const heard = new AbortController();
  return new Promise<Reply>((resolve, reject) => {
    const on = (event: 'message' | 'error' | 'exit', act: (value: unknown) => void): void => {
      thread.on(event, act);
      heard.signal.addEventListener(
        'abort',
        () => {
          thread.off(event, act);
        },
        { once: true },
      );
    };
    on('message', (reply) => {
      resolve(reply as Reply);
    }); // as its own thread sends it
    on('error', (error) => {
      reject(lost(error));
    });
    on('exit', () => {
      reject(lost(undefined));
    });
    signal.addEventListener(
      'abort',
      () => {
        reject(abortedError(signal));
      },
      { once: true, signal: heard.signal },
    );
    const watched = watchedThread(thread, () => {
      reject(tooMuch());
    });
    watch.add(watched);
    heard.signal.addEventListener(
      'abort',
      () => {
        watch.delete(watched);
      },
      { once: true },
    );
    thread.postMessage(job);
  }).finally(() => {
    heard.abort();
  });
}

function watchedThread(thread: Worker, onTooMuch: () => void): WatchedThread {
  let before = thread.performance.eventLoopUtilization();
  return {
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
    tooMuch: onTooMuch,
  };
}

function tooMuch(cause?: Error): ClassedError {
  return new ClassedError('tool_error', `To go through this takes more than ${MEMORY_MB} MB of memory.`, { cause });
}

function lost(error: unknown): ClassedError {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') return tooMuch(error);
  return new ClassedError(
    'tool_error',
    `It cannot be gone through: ${error instanceof Error ? error.message : 'its thread has ended'}.`,
    { cause: error },
  );
}

/** A thread with nothing to do; waits where there are as many as there may be. */
async function free(signal: AbortSignal): Promise<Worker> {
  for (;;) {
    if (signal.aborted) throw abortedError(signal);
    const kept = idle.pop();
    if (kept !== undefined) {
      clearTimeout(kept.timer);
      kept.thread.ref();
      return kept.thread;
    }
    if (threads < MAX_THREADS) {
      threads++;
      const thread = new Worker(entryUrl('readerThread'), {
        env: {},
        execArgv: ['--disable-warning=ExperimentalWarning'],
        // What a library prints goes nowhere. Nobody reads it: that would keep the process alive.
        stdin: false,
        stdout: true,
        stderr: true,
        resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB * HARD_LIMIT, maxYoungGenerationSizeMb: YOUNG_MB },
      });
      thread.on('error', () => undefined); // told to whoever waits for it
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
    left();
    void thread.terminate();
  }, IDLE_MS).unref();
  idle.push({ thread, timer });
  next();
}

function left(): void {
  threads--;
  next();
}

/** Wakes all who wait: some of them may not want it any more. */
function next(): void {
  for (const wake of waiting.splice(0)) wake();
}
