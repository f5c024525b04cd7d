import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/client';
import type { ProcessLimits } from '../../config/schema/processLimits.ts';
import type { OnLog } from '../../rollout/ports.ts';
import { LastLines } from '../processes/output.ts';
import type { ProcessGroups } from '../processes/processGroups.ts';
import { killTree } from '../processes/processTree.ts';
import { spawnGroup } from '../processes/spawnGroup.ts';
import { Lines } from './lines.ts';

export interface StdioServer {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly limits?: ProcessLimits | undefined;
}

/** A larger message is more than any tool result we keep, in base64. */
const MAX_MESSAGE = 96 * 1024 * 1024;
/** A server that was asked to end, by closing its input, has this long. */
const CLOSE_MS = 300;
/** After its exit, what it wrote before is waited for this long. */
const DRAIN_MS = 200;
const STDERR_LINES = 10;

/**
 * MCP over the standard input and output of a process in a group of its own: closing it, or its death, ends all of
 * the group. (The SDK's own transport ends the one process only.)
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  /** With `pid` the mark by which the SDK knows a transport as stdio. */
  readonly stderr = new PassThrough();
  /** How the process ended, for people; undefined while it runs. */
  ending: string | undefined;
  readonly #server: StdioServer;
  readonly #groups: ProcessGroups;
  readonly #onLog: OnLog;
  readonly #messages = new Lines(MAX_MESSAGE);
  readonly #lines = new LastLines();
  #child: ChildProcess | undefined;
  #exited: Promise<void> | undefined;
  #closing = false;

  /** `onLog`: takes what it prints, and that it ended by itself. */
  constructor(server: StdioServer, groups: ProcessGroups, onLog: OnLog) {
    this.#server = server;
    this.#groups = groups;
    this.#onLog = onLog;
    this.stderr.resume();
  }

  get command(): string {
    return this.#server.command;
  }

  /** Whether the process came to life at all. */
  get started(): boolean {
    return this.pid !== null;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  start(): Promise<void> {
    const { command, args, env, cwd, limits } = this.#server;
    const child = spawnGroup({ file: command, args, cwd, env, limits }, this.#groups);
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
    // A pipe to a dead server: its exit says the same.
    child.stdin.on('error', () => undefined);
    this.#exited = new Promise((resolve) => {
      let how = '';
      const done = (): void => {
        this.#ended(how);
        resolve();
      };
      child.on('exit', (code, signal) => {
        how = signal === null ? `exited with code ${code ?? 'unknown'}` : `was ended by ${signal}`;
        // What it started may live on and hold its pipes.
        this.#kill();
        setTimeout(done, DRAIN_MS).unref();
      });
      // Its last messages and lines have been read.
      child.on('close', done);
      child.on('error', (error: NodeJS.ErrnoException) => {
        // The same code for a missing program and a missing folder.
        const missing = existsSync(cwd) ? 'there is no such program' : `there is no folder ${cwd}`;
        this.#ended(`could not be started: ${error.code === 'ENOENT' ? missing : error.message}`);
        resolve();
      });
    });
    return new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin?.writable !== true) return Promise.reject(new Error('The server has ended.'));
    return new Promise((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => {
        if (error === null || error === undefined) resolve();
        else reject(error);
      });
    });
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#exited === undefined) return;
    this.#closing = true;
    child.stdin?.end();
    const timer = setTimeout(() => {
      this.#kill();
    }, CLOSE_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  #read(chunk: Buffer): void {
    try {
      for (const line of this.#messages.push(chunk)) this.#take(line);
    } catch (error) {
      // Beyond the size of any message: there is no way back into step with it.
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      this.#kill();
    }
  }

  #take(line: string): void {
    try {
      this.onmessage?.(deserializeMessage(line));
    } catch (error) {
      // No JSON at all: some servers print there. The next line may be a message.
      if (error instanceof SyntaxError) this.#onLog('out', `${line}\n`);
      else this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #kill(): void {
    const pid = this.#child?.pid;
    if (pid !== undefined) killTree(pid);
  }

  #ended(how: string): void {
    if (this.ending !== undefined) return;
    const rest = this.#messages.rest();
    if (rest !== '') this.#take(rest);
    if (!this.#closing) this.#onLog('err', `[the server ${how}]\n`);
    const lines = this.#lines.last(STDERR_LINES);
    this.ending = lines === '' ? how : `${how}; its last lines were:\n${lines}`;
    const pid = this.#child?.pid;
    if (pid !== undefined) this.#groups.remove(pid);
    this.#child?.stdout?.destroy();
    this.#child?.stderr?.destroy();
    this.onclose?.();
  }
}
