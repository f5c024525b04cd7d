/** A process that runs the sessions of a scenario, or its verifiers, as the worker sees it. */
import { StringDecoder } from 'node:string_decoder';
import { type Deferred, deferred } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';
import type { OnLog } from '../../rollout/ports.ts';
import { Lines } from '../../tools/mcp/lines.ts';
import { type GroupProcess, isStarted, killGroup } from '../../tools/processes/groupProcess.ts';
import { LastLines } from '../../tools/processes/output.ts';
import type { ProcessGroups } from '../../tools/processes/processGroups.ts';
import { spawnGroup } from '../../tools/processes/spawnGroup.ts';
import type { Sandbox } from '../../tools/sandbox/sandbox.ts';
import { type RunnerFault, runnerMessage } from './protocol.ts';

/** Larger than any answer of the runner, which limits them itself. */
const MAX_LINE = 96 * 1024 * 1024;
/** Time for remaining output after its exit. */
const DRAIN_MS = 200;
const LAST_LINES = 8;

/** An error that the runner answered. */
export class RunnerError extends Error {
  readonly fault: RunnerFault;

  constructor(fault: RunnerFault) {
    super(fault.message);
    this.name = 'RunnerError';
    this.fault = fault;
  }
}

/** The runner has ended: all its sessions are lost. */
export class RunnerLost extends Error {
  /** Somebody else killed it. */
  readonly killed: boolean;

  constructor(message: string, { cause, killed = false }: { cause?: unknown; killed?: boolean } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RunnerLost';
    this.killed = killed;
  }
}

/** Returns whether somebody else killed the process that should have answered. */
export function wasKilled(error: unknown): boolean {
  return error instanceof RunnerLost ? error.killed : error instanceof RunnerError && error.fault.killed === true;
}

/** How a shell, or the first process of a sandbox, exits after its program was killed by SIGKILL. */
const EXIT_OF_KILLED = 137;

interface RunnerOptions {
  readonly python: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  /** The sandbox that it runs in, if any. It ends with the process. */
  readonly sandbox: Sandbox | undefined;
}

/** What a session reports between answers. */
export interface SessionEvents {
  readonly onLog: OnLog;
  /** Its process has ended. `killed`: somebody else killed it. */
  onEnded(why: string, killed: boolean): void;
}

export class RunnerProcess {
  readonly #child: GroupProcess;
  readonly #options: RunnerOptions;
  readonly #pending = new Map<number, Deferred<unknown>>();
  readonly #sessions = new Map<string, SessionEvents>();
  readonly #messages = new Lines(MAX_LINE);
  readonly #last = new LastLines();
  /** The process has exited. */
  readonly #gone = deferred<undefined>();
  /** And all that belongs to it has ended. */
  readonly #exited = deferred<undefined>();
  #next = 1;
  #lost: RunnerLost | undefined;

  /** Starts it. What fails is reported by the requests. */
  constructor(options: RunnerOptions) {
    this.#options = options;
    const { python, args, cwd, env, processGroups, sandbox } = options;
    const child = spawnGroup({ file: python, args, cwd, env, sandbox }, processGroups);
    this.#child = child;
    const decoder = new StringDecoder('utf8');
    child.stdin.on('error', () => undefined); // its exit is reported
    child.stderr.on('data', (chunk: Buffer) => this.#last.push(decoder.write(chunk)));
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.on('error', (error: Error & { code?: string }) => {
      if (isStarted(child)) return; // a message could not be sent: its exit is reported
      this.#end(error.code === 'ENOENT' ? `${python} was not found` : errorText(error), { cause: error });
      this.#gone.resolve(undefined);
    });
    child.on('exit', (code, signal) => {
      this.#kill(); // sessions of it that are left
      this.#gone.resolve(undefined);
      const why = signal === null ? `it exited with code ${code}` : `it was killed by ${signal}`;
      const end = (): void => this.#end(why, { killed: signal === 'SIGKILL' || code === EXIT_OF_KILLED });
      child.on('close', end);
      setTimeout(end, DRAIN_MS).unref();
    });
  }

  /** Whether it can take requests. */
  get alive(): boolean {
    return this.#lost === undefined;
  }

  /** Resolves when it has ended, and its sandbox with it. */
  get ended(): Promise<void> {
    return this.#exited.promise;
  }

  /** Receives what a session reports until it is removed. */
  watch(session: string, events: SessionEvents): void {
    this.#sessions.set(session, events);
  }

  unwatch(session: string): void {
    this.#sessions.delete(session);
  }

  /** Sends a request and returns its answer. Throws RunnerError and RunnerLost. */
  request(op: string, fields: object): Promise<unknown> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    const id = this.#next++;
    const answer = deferred<unknown>();
    this.#pending.set(id, answer);
    this.#child.stdin.write(`${JSON.stringify({ ...fields, id, op })}\n`);
    return answer.promise;
  }

  /** Kills it with its sessions. Resolves when they have ended. */
  async close(): Promise<void> {
    this.#end('it was ended');
    this.#kill();
    await this.#exited.promise;
  }

  #kill(): void {
    killGroup(this.#child);
  }

  #read(chunk: Buffer): void {
    try {
      for (const line of this.#messages.push(chunk)) this.#receive(line);
    } catch (error) {
      this.#end(errorText(error), { cause: error });
      this.#kill();
    }
  }

  #receive(line: string): void {
    const message = runnerMessage.parse(jsonOf(line));
    if ('log' in message) {
      const events = message.session === undefined ? undefined : this.#sessions.get(message.session);
      if (events !== undefined) events.onLog(message.log, message.text);
      else if (message.session === undefined) this.#last.push(message.text);
    } else if ('ended' in message) this.#sessions.get(message.session)?.onEnded(message.ended, message.killed);
    else {
      const pending = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      if ('error' in message) pending?.reject(new RunnerError(message.error));
      else pending?.resolve(message.ok);
    }
  }

  #end(why: string, { cause, killed }: { readonly cause?: unknown; readonly killed?: boolean } = {}): void {
    if (this.#lost !== undefined) return;
    const said = this.#last.last(LAST_LINES);
    const cannotStart = StudioError.is(cause) ? cause : undefined; // its container is gone
    const lost = new RunnerLost(
      `The process of the world ended: ${why}${said === '' ? '' : `. Last output:\n${said}`}`,
      { cause: cannotStart, ...(killed === undefined ? {} : { killed }) },
    );
    this.#lost = lost;
    for (const pending of this.#pending.values()) pending.reject(lost);
    this.#pending.clear();
    for (const session of this.#sessions.values()) session.onEnded(`was lost. ${lost.message}`, lost.killed);
    this.#sessions.clear();
    void this.#cleanUp();
  }

  async #cleanUp(): Promise<void> {
    const { sandbox, processGroups } = this.#options;
    this.#kill();
    await this.#gone.promise;
    if (this.#child.pid !== undefined) processGroups.remove(this.#child.pid);
    await sandbox?.end().catch(() => undefined); // what is left in its folder is removed with the worker's
    this.#exited.resolve(undefined);
  }
}
