import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/client';
import type { ProcessLimits } from '../../config/schema/processLimits.ts';
import type { OnLog } from '../../rollout/ports.ts';
import { type GroupProcess, isStarted, killGroup } from '../processes/groupProcess.ts';
import { LastLines } from '../processes/output.ts';
import type { ProcessGroups } from '../processes/processGroups.ts';
import { spawnGroup } from '../processes/spawnGroup.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { Lines } from './lines.ts';

interface StdioServer {
  readonly command: string;
  readonly args: readonly string[];
  /** Complete environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly limits?: ProcessLimits | undefined;
  /** Opens the sandbox that it runs in, if any. */
  readonly openSandbox: () => Promise<Sandbox | undefined>;
}

/** Larger than any stored tool result, in base64. */
const MAX_MESSAGE = 96 * 1024 * 1024;
/** Time for a server to exit after its input is closed. */
const CLOSE_MS = 300;
/** Time to wait for remaining output after the exit. */
const DRAIN_MS = 200;
const STDERR_LINES = 20;

/**
 * MCP over standard input and output of a process in its own process group: closing it, or its exit, ends the whole
 * group. (The SDK's transport only ends the one process.)
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  /** Together with `pid`, identifies a stdio transport to the SDK. */
  readonly stderr = new PassThrough();
  /** Describes how the process ended, e.g. `exited with code 1`; undefined while it runs. */
  ending: string | undefined;
  readonly #server: StdioServer;
  readonly #groups: ProcessGroups;
  readonly #onLog: OnLog;
  readonly #messages = new Lines(MAX_MESSAGE);
  readonly #lines = new LastLines();
  #child: GroupProcess | undefined;
  #sandbox: Sandbox | undefined;
  #exited: Promise<void> | undefined;
  #closing = false;
  #ranUntilClosed = false;

  /** `onLog` receives its output and a note if it exits unexpectedly. */
  constructor(server: StdioServer, groups: ProcessGroups, onLog: OnLog) {
    this.#server = server;
    this.#groups = groups;
    this.#onLog = onLog;
    this.stderr.resume();
  }

  get command(): string {
    return this.#server.command;
  }

  get cwd(): string {
    return this.#server.cwd;
  }

  /** Whether the process could be started. */
  get started(): boolean {
    return this.#child !== undefined && isStarted(this.#child);
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Whether it ran until it was closed, so that its end explains nothing. */
  get ranUntilClosed(): boolean {
    return this.#ranUntilClosed;
  }

  /** Its last output to stderr; empty if there was none. */
  get lastWords(): string {
    return this.#lines.last(STDERR_LINES);
  }

  async start(): Promise<void> {
    const { command, args, env, cwd, limits } = this.#server;
    this.#sandbox = await this.#server.openSandbox();
    const child = spawnGroup({ file: command, args, cwd, env, limits, sandbox: this.#sandbox }, this.#groups);
    this.#child = child;
    const decoder = new StringDecoder('utf8');
    child.stderr.on('data', (chunk: Buffer) => {
      const text = decoder.write(chunk);
      this.#lines.push(text);
      this.#onLog('err', text);
    });
    child.stdout.on('data', (chunk: Buffer) => {
      this.#read(chunk);
    });
    // A broken pipe: the exit is reported separately.
    child.stdin.on('error', () => undefined);
    this.#exited = new Promise((resolve) => {
      let outcome = '';
      const done = (): void => {
        this.#ended(outcome);
        resolve();
      };
      child.on('exit', (code, signal) => {
        outcome = signal === null ? `exited with code ${code ?? 'unknown'}` : `was killed by ${signal}`;
        // Its children may keep running and hold its pipes open.
        this.#kill();
        setTimeout(done, DRAIN_MS).unref();
      });
      // All output has been read.
      child.on('close', done);
      child.on('error', (error: Error & { code?: string }) => {
        // A missing program and a missing folder have the same code.
        const missing = existsSync(cwd) ? 'program not found' : `folder ${cwd} not found`;
        this.#ended(`could not be started: ${error.code === 'ENOENT' ? missing : error.message}`);
        resolve();
      });
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin?.writable !== true) return Promise.reject(new Error('The server has exited.'));
    return new Promise((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => {
        if (error === null || error === undefined) resolve();
        else reject(error);
      });
    });
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#exited === undefined) {
      await this.#sandbox?.end();
      return;
    }
    if (!this.#closing) this.#ranUntilClosed = this.ending === undefined && child.stdin.writable;
    this.#closing = true;
    child.stdin.end();
    const timer = setTimeout(() => {
      this.#kill();
    }, CLOSE_MS);
    await this.#exited;
    clearTimeout(timer);
    await this.#sandbox?.end();
  }

  #read(chunk: Buffer): void {
    try {
      for (const line of this.#messages.push(chunk)) this.#receiveLine(line);
    } catch (error) {
      // The message is too large, and there is no way to find the start of the next one.
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      this.#kill();
    }
  }

  #receiveLine(line: string): void {
    try {
      this.onmessage?.(deserializeMessage(line));
    } catch (error) {
      // Some servers print other text to stdout; the next line may be a message.
      if (error instanceof SyntaxError) this.#onLog('out', `${line}\n`);
      else this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #kill(): void {
    if (this.#child !== undefined) killGroup(this.#child);
  }

  #ended(outcome: string): void {
    if (this.ending !== undefined) return;
    const rest = this.#messages.rest();
    if (rest !== '') this.#receiveLine(rest);
    if (!this.#closing) this.#onLog('err', `[the server ${outcome}]\n`);
    const lines = this.lastWords;
    this.ending = lines === '' ? outcome : `${outcome}. Last output:\n${lines}`;
    const pid = this.#child?.pid;
    if (pid !== undefined) this.#groups.remove(pid);
    this.#child?.stdout.destroy();
    this.#child?.stderr.destroy();
    void this.#sandbox?.end().catch(() => undefined); // what is left in its folder is removed with the worker's
    this.onclose?.();
  }
}
