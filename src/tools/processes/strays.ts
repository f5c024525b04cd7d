/**
 * Ends processes that have left their process group (`setsid`, daemons). They are identified by a mark in their
 * environment, which children inherit. Only Linux exposes the environment of other processes; on other systems, such
 * processes keep running, as do those without the mark.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';

const OWNER = 'ROLLOUT_OWNER';
/** Number of processes to check before yielding to the event loop. */
const BATCH_SIZE = 64;
/** Gives up after this many rounds if processes are started faster than they are killed. */
const MAX_ROUNDS = 20;

/**
 * Creates an owner below `parent`, which also owns its processes. Default parent: the rollout that started this
 * process, if any.
 */
export function newOwner(parent: string | undefined = process.env[OWNER]): string {
  return parent !== undefined && /^[\w/-]+$/.test(parent) ? `${parent}/${randomUUID()}` : randomUUID();
}

/** Returns the environment with the mark of the owner. */
export function marked(env: Readonly<Record<string, string>>, owner: string): Record<string, string> {
  return { ...env, [OWNER]: owner };
}

/** Returns the mark as an environment variable. */
export function markOf(owner: string): string {
  return `${OWNER}=${owner}`;
}

/** Kills all processes of the owner, including those that they start in the meantime. Linux only. */
export async function endStrays(owner: string): Promise<void> {
  if (process.platform !== 'linux') return;
  const ended = new Set<string>();
  for (let round = 0, before = -1; round < MAX_ROUNDS && ended.size > before; round++) {
    before = ended.size;
    for (const [at, pid] of processes().entries()) {
      if (at % BATCH_SIZE === BATCH_SIZE - 1) await turn();
      if (!isOwned(pid, owner)) continue;
      // The ID may have been reused by now; compares start times.
      const start = startOf(pid);
      if (start === undefined || !isOwned(pid, owner) || startOf(pid) !== start) continue;
      if (kill(pid)) ended.add(`${pid} ${start}`);
    }
  }
}

function processes(): number[] {
  return readdirSync('/proc').flatMap((name) =>
    /^\d+$/.test(name) && Number(name) !== process.pid ? [Number(name)] : [],
  );
}

/** Returns the start time in clock ticks; undefined if the process is gone. */
function startOf(pid: number): string | undefined {
  // The 22nd field; skips the name, which may contain anything.
  return read(pid, 'stat')?.toString('latin1').split(') ').at(-1)?.split(' ')[19];
}

function isOwned(pid: number, owner: string): boolean {
  const environ = read(pid, 'environ');
  const mark = markOf(owner);
  // Most processes have no mark and need no parsing.
  if (environ?.includes(mark) !== true) return false;
  return environ
    .toString('latin1')
    .split('\0')
    .some((line) => line === mark || line.startsWith(`${mark}/`));
}

/** Returns undefined if the process is gone or belongs to another user. */
function read(pid: number, file: 'stat' | 'environ'): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`);
  } catch {
    return undefined;
  }
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false; // it has already exited
  }
}
