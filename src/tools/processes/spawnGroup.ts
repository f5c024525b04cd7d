/**
 * Processes of tools, each the leader of a group of its own that the worker's reaper knows of before the program runs.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import spawn from 'cross-spawn'; // on Windows it also starts what is no .exe, as npx
import type { ProcessLimits } from '../../config/schema/processLimits.ts';
import type { ProcessGroups } from './processGroups.ts';
import { limitsScript } from './processLimits.ts';
import { OWN_GROUP } from './processTree.ts';
import { marked } from './strays.ts';

/**
 * A shell that becomes the program once it has read a line, and ends when there will be none: a worker that is killed
 * between the start of a process and its word to the reaper would leave that process behind for ever.
 */
const GATE = 'read -r _ <&3 || exit 1; exec 3<&-; ';
const BECOME = 'exec "$0" "$@"';

export interface SpawnedGroup {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The arguments are put on the command line as they are (Windows only). */
  readonly verbatim?: boolean | undefined;
  /** Bounds of the process and of each one that it starts. */
  readonly limits?: ProcessLimits | undefined;
}

/** Starts it with pipes for all it reads and writes. What `spawn` would emit as `error` this one emits, too. */
export function spawnGroup(
  { file, args, cwd, env, verbatim, limits }: SpawnedGroup,
  groups: ProcessGroups,
): ChildProcessWithoutNullStreams {
  const options = { cwd, env: marked(env, groups.owner), detached: OWN_GROUP, windowsHide: true };
  if (!OWN_GROUP || !isThere(file, cwd, env)) {
    const child = spawn(file, [...args], {
      ...options,
      stdio: 'pipe',
      ...(verbatim === true ? { windowsVerbatimArguments: true } : {}),
    });
    if (child.pid !== undefined) groups.add(child.pid);
    return child as ChildProcessWithoutNullStreams; // `pipe` gives it all three
  }
  const child = spawn('/bin/sh', ['-c', `${GATE}${limitsScript(limits)}${BECOME}`, file, ...args], {
    ...options,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) groups.add(child.pid);
  const gate = child.stdio[3];
  if (gate !== null && gate !== undefined && 'write' in gate) {
    gate.on('error', () => undefined); // it ended already: its exit says so
    gate.end('\n');
  }
  return child as ChildProcessWithoutNullStreams; // with pipes for the first three
}

/** Whether the shell would find the program; what is missing is told best by a plain `spawn`. */
function isThere(file: string, cwd: string, env: Readonly<Record<string, string>>): boolean {
  if (file.includes('/')) return existsSync(path.resolve(cwd, file));
  return (env['PATH'] ?? '').split(path.delimiter).some((folder) => existsSync(path.resolve(cwd, folder, file)));
}
