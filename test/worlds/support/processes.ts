/** Processes of code worlds, as the system lists them. */
import { spawnSync } from 'node:child_process';

const RUNNER = 'world_runner.py';

export interface WorldProcesses {
  /** Those that hold a loaded scenario, or run verifiers. */
  readonly runners: readonly number[];
  /** Their children. */
  readonly sessions: readonly number[];
}

/** Returns the processes of worlds below a worker. */
export function worldProcesses(worker: number | undefined): WorldProcesses {
  const listed = spawnSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).stdout;
  const all = listed.split('\n').flatMap((line) => {
    const [, pid, parent, args = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), args }];
  });
  const below = new Set([worker]);
  for (let size = 0; size < below.size; ) {
    size = below.size;
    for (const { pid, parent } of all) if (below.has(parent)) below.add(pid);
  }
  // A sandbox starts the interpreter through other programs, which have its arguments, too.
  const own = all.filter(({ pid, args }) => below.has(pid) && args.includes(RUNNER) && /^\S*python/.test(args));
  const ids = new Set(own.map(({ pid }) => pid));
  return {
    runners: own.flatMap(({ pid, parent }) => (ids.has(parent) ? [] : [pid])),
    sessions: own.flatMap(({ pid, parent }) => (ids.has(parent) ? [pid] : [])),
  };
}
