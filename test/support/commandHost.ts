/** A process that runs many `rollout` commands: starting one for each takes longer than most commands. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { deferred } from '../../src/common/abort.ts';

export interface CommandRequest {
  readonly cwd: string;
  readonly args: readonly string[];
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const OUTPUTS = ['stdout', 'stderr'] as const;

export class CommandHost {
  readonly #child: ChildProcess;
  readonly #end = `${randomUUID()} `;
  readonly #output = { stdout: '', stderr: '' };
  readonly #closed: Promise<number | null>;
  readonly #environment: string;
  #check: (() => void) | undefined;
  #ended = false;

  /** `cli`: the bundle. Commands inherit the environment. */
  constructor(cli: string, env: NodeJS.ProcessEnv) {
    this.#environment = JSON.stringify(env);
    const main = path.join(import.meta.dirname, 'commandHostMain.ts');
    this.#child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, cli, this.#end], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env,
    });
    for (const name of OUTPUTS) {
      const decoder = new StringDecoder();
      this.#child[name]?.on('data', (bytes: Buffer) => {
        this.#output[name] += decoder.write(bytes);
        this.#check?.();
      });
    }
    this.#requests.on('error', () => undefined); // `close` follows
    this.#closed = once(this.#child, 'close').then(([code]) => {
      this.#ended = true;
      return code as number | null;
    });
  }

  /** Whether it is not running a command: it runs one at a time. */
  get isFree(): boolean {
    return this.#check === undefined;
  }

  /** Returns whether it can run a command in this environment. It ends with a command that leaves something running. */
  fits(env: NodeJS.ProcessEnv): boolean {
    return !this.#ended && JSON.stringify(env) === this.#environment;
  }

  get #requests(): Writable {
    return this.#child.stdio[3] as Writable;
  }

  /** Runs `rollout …` to its end. After `timeoutMs`, the process is killed. */
  async run(request: CommandRequest, timeoutMs: number): Promise<CommandResult> {
    const done = deferred<number>();
    this.#output.stdout = '';
    this.#output.stderr = '';
    this.#check = () => {
      const [stdout, stderr] = OUTPUTS.map((name) => this.#code(name));
      if (stdout !== undefined && stderr !== undefined) done.resolve(stdout);
    };
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), timeoutMs);
    this.#requests.write(`${JSON.stringify(request)}\n`);
    const code = await Promise.race([done.promise, this.#closed]);
    clearTimeout(timer);
    this.#check = undefined;
    const [stdout = '', stderr = ''] = OUTPUTS.map((name) => this.#output[name].split(this.#end)[0]);
    return { code, stdout, stderr };
  }

  /** Returns the exit code of the command if the output is complete. */
  #code(name: (typeof OUTPUTS)[number]): number | undefined {
    const last = this.#output[name].slice(-this.#end.length - 5);
    const [, code] = last.endsWith('\n') ? last.split(this.#end) : [];
    return code === undefined ? undefined : Number(code);
  }

  /** Ends the process. */
  async end(): Promise<void> {
    this.#requests.end();
    await this.#closed;
  }
}
