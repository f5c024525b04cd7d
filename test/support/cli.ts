/** The command line as a user runs it: the bundles of `dist/` in a separate process, on a store of the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CommandHost, type CommandResult } from './commandHost.ts';

export type { CommandResult } from './commandHost.ts';

export const root = path.resolve(import.meta.dirname, '../..');
const cli = path.join(root, 'dist', 'cli.mjs');

/** A temporary folder with a store. `close` ends the server that runs on it and removes everything. */
export class Bench {
  readonly folder: string;
  readonly store: string;
  readonly #env: Record<string, string>;
  readonly #where: readonly string[];
  readonly #sharesProcess: boolean;
  #host: CommandHost | undefined;

  /**
   * `where`: options added to every command instead of the store. `sharesProcess`: commands that end run one after
   * another in the same process, which is for files that do not test how each command's process starts or ends.
   */
  constructor(
    options: {
      store?: string;
      where?: readonly string[];
      env?: Record<string, string>;
      sharesProcess?: boolean;
    } = {},
  ) {
    this.#sharesProcess = options.sharesProcess ?? false;
    this.folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-test-'));
    this.store = options.store ?? path.join(this.folder, 'store');
    this.#where = options.where ?? ['--store', this.store];
    // Servers of PostgreSQL stores keep their file in the user's data folder, which is this folder here.
    this.#env = { XDG_DATA_HOME: this.folder, LOCALAPPDATA: this.folder, HOME: this.folder, ...options.env };
  }

  path(...parts: string[]): string {
    return path.join(this.folder, ...parts);
  }

  /** Starts `rollout …` and returns the process. `program`: the command line of another version. */
  start(
    args: readonly string[],
    options: { cwd?: string; env?: Record<string, string>; program?: string } = {},
  ): ChildProcess {
    const words = ['--disable-warning=ExperimentalWarning', options.program ?? cli, ...args, ...this.#where];
    return spawn(process.execPath, words, {
      cwd: options.cwd ?? this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...this.#environment, ...options.env },
    });
  }

  get #environment(): NodeJS.ProcessEnv {
    return { ...process.env, ...this.#env };
  }

  /** Runs `rollout …` to its end. */
  async run(
    args: readonly string[],
    options: { cwd?: string; env?: Record<string, string>; program?: string; timeoutMs?: number } = {},
  ): Promise<CommandResult> {
    const timeoutMs = options.timeoutMs ?? 120_000;
    const host = options.env === undefined && options.program === undefined ? this.#freeHost() : undefined;
    if (host !== undefined)
      return host.run({ cwd: options.cwd ?? this.folder, args: [...args, ...this.#where] }, timeoutMs);
    const child = this.start(args, options);
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
    const [code] = (await once(child, 'close')) as [number | null];
    clearTimeout(timer);
    return { code, stdout: await stdout, stderr: await stderr };
  }

  /** Returns the process for commands, unless one is running in it. */
  #freeHost(): CommandHost | undefined {
    if (!this.#sharesProcess) return undefined;
    const host = this.#host;
    if (host?.isFree === false) return undefined;
    const environment = this.#environment;
    if (host?.fits(environment) === true) return host;
    void host?.end();
    this.#host = new CommandHost(cli, environment);
    return this.#host;
  }

  /** Runs `rollout … --json` to its end and returns the document. Throws with both outputs when it fails. */
  async json<T>(
    args: readonly string[],
    options: { cwd?: string; env?: Record<string, string>; timeoutMs?: number } = {},
  ): Promise<T> {
    const ran = await this.run([...args, '--json'], options);
    if (ran.code !== 0)
      throw new Error(
        `rollout ${args.join(' ')} ended with ${String(ran.code)}\n${ran.stderr}\n${ran.stdout.slice(0, 2000)}`,
      );
    return JSON.parse(ran.stdout) as T;
  }

  /** The file `server.json` of the store, if it exists. */
  serverFile(folder = this.store): { pid: number; port: number; token: string } | undefined {
    const file = path.join(folder, 'server.json');
    return existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as { pid: number; port: number; token: string })
      : undefined;
  }

  async close(): Promise<void> {
    const pid = this.serverFile()?.pid;
    if (pid !== undefined) await end(pid);
    await this.#host?.end();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }
}

/** Returns whether a process exists. */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** Ends a process that is not our child: sends SIGTERM, waits up to 5 s, then kills it. */
export async function end(pid: number): Promise<void> {
  if (!alive(pid)) return;
  process.kill(pid, 'SIGTERM');
  if (await hasEnded(pid, 5_000)) return;
  process.kill(pid, 'SIGKILL');
  await hasEnded(pid, 5_000);
}

/** Resolves to whether a process that is not our child ended within `ms`. Polls, because there is no event for that. */
export async function hasEnded(pid: number, ms: number): Promise<boolean> {
  for (const until = performance.now() + ms; performance.now() < until; ) {
    if (!alive(pid)) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return !alive(pid);
}

async function collect(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = '';
  if (stream !== null) for await (const chunk of stream) text += String(chunk);
  return text;
}
