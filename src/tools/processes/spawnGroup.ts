/**
 * Starts processes of tools as leaders of their own groups, registered with the worker's reaper before the program
 * runs.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import spawn from 'cross-spawn'; // also starts scripts such as npx on Windows
import type { ProcessLimits } from '../../config/schema/processLimits.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { GroupProcess } from './groupProcess.ts';
import type { ProcessGroups } from './processGroups.ts';
import { limitsScript } from './processLimits.ts';
import { OWN_GROUP } from './processTree.ts';
import { quoted } from './quoted.ts';
import { marked } from './strays.ts';

/**
 * In a shell, before it executes the program: waits for a line, and exits if there is none. Otherwise, a worker killed
 * between starting a process and registering it with the reaper would leave it running forever.
 */
const GATE = 'read -r _ <&3 || exit 1; exec 3<&-; ';
const EXECUTE = 'exec "$0" "$@"';

interface SpawnedGroup {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Passes the arguments without quoting (Windows only). */
  readonly verbatim?: boolean | undefined;
  /** Limits of the process and each of its children. */
  readonly limits?: ProcessLimits | undefined;
  /** The sandbox that it runs in, if any. */
  readonly sandbox?: Sandbox | undefined;
  /** Whether it is a Node.js program that exchanges messages with this process (`send`, `message`). */
  readonly messages?: boolean;
}

/** Starts a process with pipes. Emits the same `error` events as `spawn`. */
export function spawnGroup(
  { file, args, cwd, env, verbatim, limits, sandbox, messages = false }: SpawnedGroup,
  groups: ProcessGroups,
): GroupProcess {
  if (sandbox?.spawn !== undefined)
    return sandbox.spawn({ file, args, cwd, env, limits, owner: groups.owner, messages });
  const options = {
    cwd,
    env: marked({ ...env, ...sandbox?.env }, groups.owner),
    detached: OWN_GROUP,
    windowsHide: true,
    serialization: 'advanced' as const,
  };
  const channel = messages ? (['ipc'] as const) : [];
  if (!OWN_GROUP || !exists(file, cwd, env)) {
    const child = spawn(file, [...args], {
      ...options,
      stdio: ['pipe', 'pipe', 'pipe', ...channel],
      ...(verbatim === true ? { windowsVerbatimArguments: true } : {}),
    });
    if (child.pid !== undefined) groups.add(child.pid);
    return child as ChildProcessWithoutNullStreams; // `pipe` creates all three
  }
  const setup = `${GATE}${limitsScript(limits)}`;
  const command = sandbox?.command({ file, args, cwd, setup: `${localeScript(options.env['LC_ALL'])}${setup}` });
  const child = spawn(command?.file ?? '/bin/sh', [...(command?.args ?? ['-c', `${setup}${EXECUTE}`, file, ...args])], {
    ...options,
    ...(command === undefined ? {} : { env: { ...options.env, LC_ALL: 'C' } }),
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', ...channel],
  });
  if (child.pid !== undefined) groups.add(child.pid);
  const gate = child.stdio[3];
  if (gate !== null && gate !== undefined && 'write' in gate) {
    gate.on('error', () => undefined); // it has already exited, which is reported separately
    gate.end('\n');
  }
  return child as ChildProcessWithoutNullStreams; // the first three are pipes
}

/**
 * Returns the shell command that restores a variable. The programs that enter a sandbox do without the user's locale,
 * because loading it takes as long as everything else that they do.
 */
function localeScript(locale: string | undefined): string {
  return locale === undefined ? 'unset LC_ALL; ' : `LC_ALL=${quoted(locale)}; `;
}

/** Returns whether the shell would find the program. A plain `spawn` reports missing programs best. */
function exists(file: string, cwd: string, env: Readonly<Record<string, string>>): boolean {
  if (file.includes('/')) return existsSync(path.resolve(cwd, file));
  return (env['PATH'] ?? '').split(path.delimiter).some((folder) => existsSync(path.resolve(cwd, folder, file)));
}
