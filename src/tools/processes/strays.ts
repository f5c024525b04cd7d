/**
 * What leaves its process group (`setsid`, a daemon) does not end with it. A mark in its environment, which children
 * inherit, tells whose it is. Only Linux shows the environment of other processes; elsewhere it is left running, as is
 * what was started without the mark or has written over it.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';

const OWNER = 'ROLLOUT_OWNER';
/** So many are looked at in one go: whoever else waits for this thread gets it in between. */
const AT_ONCE = 64;
/** What starts others faster than they are ended is given up after so many rounds. */
const MAX_ROUNDS = 20;

/**
 * A new owner below `parent`: what is the new one's is the parent's, too. Absent: whoever started this process, if a
 * rollout did.
 */
export function newOwner(parent: string | undefined = process.env[OWNER]): string {
  return parent !== undefined && /^[\w/-]+$/.test(parent) ? `${parent}/${randomUUID()}` : randomUUID();
}

/** The environment of a process that is the owner's. */
export function marked(env: Readonly<Record<string, string>>, owner: string): Record<string, string> {
  return { ...env, [OWNER]: owner };
}

/** The mark itself, as it is among the variables of a process. */
export function markOf(owner: string): string {
  return `${OWNER}=${owner}`;
}

/** Ends all processes that are the owner's, those that they start meanwhile as well. Linux only; nothing elsewhere. */
export async function endStrays(owner: string): Promise<void> {
  if (process.platform !== 'linux') return;
  const ended = new Set<string>();
  for (let round = 0, before = -1; round < MAX_ROUNDS && ended.size > before; round++) {
    before = ended.size;
    for (const [at, pid] of processes().entries()) {
      if (at % AT_ONCE === AT_ONCE - 1) await turn();
      if (!isOwned(pid, owner)) continue;
      // Its id may be another one's by now: when that began tells.
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

/** When it began, in the system's clock ticks; undefined when it is gone. */
function startOf(pid: number): string | undefined {
  // Behind the name, which may hold anything: the 22nd field of all.
  return read(pid, 'stat')?.toString('latin1').split(') ').at(-1)?.split(' ')[19];
}

function isOwned(pid: number, owner: string): boolean {
  const environ = read(pid, 'environ');
  const mark = markOf(owner);
  // Nearly all have none: those need not be taken apart.
  if (environ?.includes(mark) !== true) return false;
  return environ
    .toString('latin1')
    .split('\0')
    .some((line) => line === mark || line.startsWith(`${mark}/`));
}

/** Undefined when it is gone, or somebody else's. */
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
    return false; // it ended by itself
  }
}
