/**
 * In the thread: what user code could do to its thread and to the worker, turned into something that can be told.
 *
 * Guards against accidents only. A process that a tool starts can still kill the worker, as can running out of memory
 * in one large step: then the worker is dead and another one resumes its rollouts.
 */
import type { ChildProcess } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

export interface Guards {
  /** Tells who ends the thread, then ends it. */
  leave(how: string): never;
  print(stream: 'out' | 'err', text: string): void;
  /** What was thrown outside of any call's promise. */
  late(error: unknown): void;
}

/** Puts the guards in place; gives what really ends the thread. */
export function guard(guards: Guards): (code: number) => never {
  const exit = process.exit.bind(process);
  const kill = process.kill.bind(process);
  process.exit = (code?: number) => guards.leave(`called process.exit(${code ?? ''})`);
  process.abort = () => guards.leave('called process.abort()');
  process.kill = (pid, signal) => {
    // A thread has its process's id: this would end the worker with all its rollouts.
    if (Math.abs(pid) === process.pid || pid === 0) guards.leave(`called process.kill on its own process`);
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
  // Also for those who import { exit } from 'node:process'.
  syncBuiltinESMExports();
  return exit;
}

/**
 * What a tool leaves running ends with its rollout: so whoever ends it must know of it. `told`: of each start and end;
 * on systems with groups each leads one of its own. `mark`: the variable that it gets in place of the thread's own.
 */
export function watchChildren(mark: () => string | undefined, told: (pid: number, alive: boolean) => void): void {
  // Most modules start none, and are spared it.
  const { ChildProcess } = process.getBuiltinModule('node:child_process');
  const prototype = ChildProcess.prototype as unknown as {
    spawn: (this: ChildProcess, options: { detached?: boolean; envPairs?: readonly string[] }) => unknown;
  }; // all of spawn, exec, fork come by it
  const { spawn } = prototype;
  // as processTree.ts says it, which would load what is not to be loaded here
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
    if (pid !== undefined) {
      told(pid, true);
      this.once('exit', () => told(pid, false));
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
    // At once, for a loop that prints without end would pile them up; later only for one that writes again.
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
