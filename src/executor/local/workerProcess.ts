/** Runs one worker as a child process. It reads its configuration from stdin and writes to a log file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { LONG_RUNNING_ENV } from '../../common/entries.ts';
import { allowedEnvironment } from '../../common/environment.ts';
import type { WorkerConfig } from '../../worker/config.ts';

/** Windows has no process groups, and would open a console window. */
const OWN_GROUP = process.platform !== 'win32';
/** A longer log file is truncated. */
const MAX_LOG_BYTES = 16 * 1024 * 1024;

/** Variables that a worker reads; the user's others could contain secrets. */
const WORKER_VARIABLES = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'CHROME_PATH',
  'PLAYWRIGHT_BROWSERS_PATH',
  'NODE_USE_SYSTEM_CA',
  'NODE_COMPILE_CACHE',
  'ROLLOUT_FRAME_LOG',
  'ROLLOUT_OWNER',
  'ROLLOUT_USE_BUNDLES',
];

export interface WorkerCommand {
  readonly file: string;
  readonly args: readonly string[];
}

export interface WorkerEnd {
  /** undefined if a signal ended it, or it could not be started. */
  readonly code: number | undefined;
  readonly text: string;
}

export class WorkerProcess {
  /** Contains the process ID, so that a later server can check whether it is alive. */
  readonly name: string;
  readonly ended: Promise<WorkerEnd>;
  readonly startedAt: number = performance.now();
  readonly #child: ChildProcess;
  #why: string | undefined;

  /** `configure` gets the worker's name, and whether it leads a process group. */
  constructor(command: WorkerCommand, logFile: string, configure: (name: string, ownGroup: boolean) => WorkerConfig) {
    const log = openLog(logFile);
    try {
      this.#child = spawn(command.file, [...command.args], {
        stdio: ['pipe', log, log],
        windowsHide: true,
        detached: OWN_GROUP,
        // In VS Code, execPath is Electron: this makes it run as plain Node.js.
        env: { ...allowedEnvironment(process.env, WORKER_VARIABLES), ...LONG_RUNNING_ENV, ELECTRON_RUN_AS_NODE: '1' },
      });
    } finally {
      closeSync(log);
    }
    this.name = nameOf(this.#child.pid ?? 0);
    this.ended = endOf(this.#child).then((end) => (this.#why === undefined ? end : { ...end, text: this.#why }));
    // If the worker ends before it has read its configuration, its exit is reported.
    this.#child.stdin?.on('error', () => undefined);
    this.#child.stdin?.end(JSON.stringify(configure(this.name, OWN_GROUP)));
  }

  signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.#child.kill(signal);
  }

  /** Kills it, and what runs in its process group, also while it is stopped. `why`: reported as its end. */
  kill(why: string): void {
    const { pid } = this.#child;
    this.#why = why;
    try {
      if (OWN_GROUP && pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // The group has ended, or is not there yet.
    }
    this.#child.kill('SIGKILL');
  }
}

function endOf(child: ChildProcess): Promise<WorkerEnd> {
  return new Promise((resolve) => {
    child.once('error', (error) =>
      resolve({ code: undefined, text: `The worker could not be started: ${error.message}.` }),
    );
    child.once('exit', (code, signal) =>
      resolve({
        code: code ?? undefined,
        text: signal === null ? `The worker exited with code ${String(code)}.` : `The worker was killed by ${signal}.`,
      }),
    );
  });
}

function openLog(file: string): number {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return openSync(file, size > MAX_LOG_BYTES ? 'w' : 'a', 0o600);
}

const NAME = /^local-(\d+)$/;

function nameOf(pid: number): string {
  return `local-${pid}`;
}

/** Returns the process ID in a worker's name; undefined for other kinds of names. */
export function pidOf(worker: string): number | undefined {
  const pid = NAME.exec(worker)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/** Returns whether a process on this machine is alive, including processes of other users. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
