/**
 * The sandbox of the programs that a rollout starts (terminal, code, MCP commands): their own processes, and their own
 * view of the file system.
 */
import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { ProcessLimits } from '../../config/schema/processLimits.ts';
import type { GroupProcess } from '../processes/groupProcess.ts';
import { quoted } from '../processes/quoted.ts';
import type { FilteredNetwork } from './network/networks.ts';

/** What programs see in addition to the system's folders, which are read-only. Paths are absolute. */
export interface View {
  /** Files and folders that programs may change. */
  readonly write: readonly string[];
  /**
   * Those of `write` that are folders of a rollout, and no links. Modules that share a process could replace them with
   * links before programs of the same rollout start.
   */
  readonly own?: readonly string[];
  readonly read: readonly string[];
  /** Files and folders to hide inside the others. They need not exist. */
  readonly hide: readonly string[];
  /** Folders inside the home folder whose contents programs see; what they change there is lost at the end. */
  readonly caches: readonly string[];
  /** Folder for the home folder and the temporary folder of programs. Created and removed with the sandbox. */
  readonly scratch: string;
  /** All of the network, nothing, or a filtered one, which is opened if there is a sandbox. */
  readonly network: boolean | FilteredSource;
}

/** A filtered network that can be opened. */
export interface FilteredSource {
  /** Addresses that it reaches besides the public internet. */
  readonly allow: readonly string[];
  readonly open: () => Promise<FilteredNetwork>;
}

/** A program to start in another container. */
export interface ProgramToStart {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: ProcessLimits | undefined;
  readonly owner: string;
  readonly messages: boolean;
}

/** A program to start. */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Shell commands to run before the program, each ending in `; `. */
  readonly setup: string;
}

/** A sandbox in which programs can be started until it ends. */
export interface Sandbox {
  /** Whether its programs have their own process IDs, which mean nothing outside, and all end with it. */
  readonly ownProcesses: boolean;
  /** Variables that differ inside, such as the path of the temporary folder. */
  readonly env: Readonly<Record<string, string>>;
  /** Starts a program in another container, if it is there. */
  readonly spawn?: (program: ProgramToStart) => GroupProcess;
  /** Returns the command that runs a program in the sandbox. */
  command(program: Program): { readonly file: string; readonly args: readonly string[] };
  /** Ends all programs in the sandbox and removes its scratch folder. */
  end(): Promise<void>;
}

const SHELL = '/bin/sh';
/** Shells whose errors do not quote the line. */
const TERSE = ['dash', 'busybox'];

/**
 * Returns the command of a shell that runs a program in its folder. A shell that runs a command line starts no other
 * one for it.
 */
export function programCommand({ file, args, cwd, setup }: Program): string[] {
  const [option, line, ...others] = args;
  if (file === SHELL && option === '-c' && line !== undefined && others.length === 0)
    if (TERSE.includes(path.basename(realpathSync(SHELL))))
      return [SHELL, '-c', `cd -- ${quoted(cwd)} || exit 126; ${setup}${line}`];
  return [SHELL, '-c', `cd -- "$0" || exit 126; ${setup}exec "$@"`, cwd, file, ...args];
}
