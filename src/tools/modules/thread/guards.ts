/**
 * Intercepts what user code could do to its thread and their process, and reports it (in the thread).
 *
 * This protects only against accidents. One large allocation, for example, can still end the process, and with it the
 * other threads.
 */
import type { ChildProcess } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

interface Guards {
  /** Reports why the thread exits, then exits. */
  exit(reason: string): never;
  print(stream: 'out' | 'err', text: string): void;
  /** Reports an error outside of any call's promise. */
  late(error: unknown): void;
}

/** Installs the guards; returns the function that really exits the thread. */
export function guard(guards: Guards): (code: number) => never {
  const exit = process.exit.bind(process);
  const kill = process.kill.bind(process);
  process.exit = (code?: number) => guards.exit(`called process.exit(${code ?? ''})`);
  process.abort = () => guards.exit('called process.abort()');
  process.kill = (pid, signal) => {
    // A thread shares the process ID: this would kill all threads.
    if (Math.abs(pid) === process.pid || pid === 0) guards.exit(`called process.kill on its own process`);
    return kill(pid, signal);
  };
  process.stdout.write = printer((text) => {
    guards.print('out', text);
  });
  process.stderr.write = printer((text) => {
    guards.print('err', text);
  });
  process.on('uncaughtException', (error) => {
    guards.late(error);
  });
  process.on('unhandledRejection', (error) => {
    guards.late(error);
  });
  // Also affects `import { exit } from 'node:process'`.
  syncBuiltinESMExports();
  return exit;
}

/**
 * Watches the processes that tools start, so that remaining ones can be ended with the rollout. `onChange` is called
 * when a process starts or ends. On systems with process groups, each leads its own. `mark`: the environment variable
 * that a process gets instead of the thread's.
 */
export function watchChildren(
  mark: () => string | undefined,
  onChange: (mark: string, pid: number, alive: boolean) => void,
): void {
  // Loaded lazily, because most modules do not start processes.
  const { ChildProcess } = process.getBuiltinModule('node:child_process');
  const prototype = ChildProcess.prototype as unknown as {
    spawn: (this: ChildProcess, options: { detached?: boolean; envPairs?: readonly string[] }) => unknown;
  }; // used by spawn, exec, and fork
  const { spawn } = prototype;
  // same as in processTree.ts, which would load too much here
  const ownGroup = process.platform !== 'win32';
  prototype.spawn = function (this: ChildProcess, options) {
    const own = mark();
    const name = own?.slice(0, own.indexOf('=') + 1) ?? '';
    const result = spawn.call(this, {
      ...options,
      ...(ownGroup ? { detached: true } : {}),
      ...(own === undefined
        ? {}
        : { envPairs: [...(options.envPairs ?? []).filter((pair) => !pair.startsWith(name)), own] }),
    });
    const { pid } = this;
    if (pid !== undefined && own !== undefined) {
      onChange(own, pid, true);
      this.once('exit', () => onChange(own, pid, false));
    }
    return result;
  };
}

function printer(print: (text: string) => void): typeof process.stdout.write {
  let within = false;
  return (
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | ((error?: Error | null) => void),
    done?: (error?: Error | null) => void,
  ): boolean => {
    print(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    const callback = typeof encoding === 'function' ? encoding : done;
    if (callback === undefined) return true;
    // Calls back synchronously, so that an endless loop does not queue callbacks; nested writes call back later.
    if (within) {
      queueMicrotask(() => {
        callback();
      });
      return true;
    }
    within = true;
    try {
      callback();
    } finally {
      within = false;
    }
    return true;
  };
}
