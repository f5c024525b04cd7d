/** Serves one connection of the tool server: the programs and sandboxes that a worker asked for. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { deserialize, serialize } from 'node:v8';
import { errorText, StudioError, systemCodeOf } from '../../common/errors.ts';
import { harmlessLine } from '../../trace/text/terminal.ts';
import { type GroupProcess, isStarted, killGroup } from '../processes/groupProcess.ts';
import type { ProcessGroups } from '../processes/processGroups.ts';
import { OWN_GROUP } from '../processes/processTree.ts';
import { spawnGroup } from '../processes/spawnGroup.ts';
import { endStrays, marked } from '../processes/strays.ts';
import { scratchIn } from '../sandbox/folders.ts';
import type { Networks } from '../sandbox/network/networks.ts';
import { openSandbox, sandboxSupport } from '../sandbox/open.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { clearFolder } from './clearFolder.ts';
import {
  type Frame,
  FrameReader,
  KIND,
  readData,
  readMessage,
  writeControl,
  writeData,
  writeEnd,
  writeMessage,
} from './frames.ts';
import { type SpawnRequest, type ToolEvent, type ToolRequest, toolRequest, type ViewRequest } from './protocol.ts';

/** Variables that differ between the containers, unless the program has its own. */
const PLACES = ['HOME', 'TMPDIR'] as const;
const MAX_PROGRAMS = 4096;

/** The sandboxes of all connections by their unguessable names; undefined: programs run without one. */
export type Sandboxes = Map<string, Sandbox | undefined>;

interface Program {
  readonly child: GroupProcess;
  readonly inputs: ReadonlyMap<number, Writable>;
  exited: boolean;
}

export class ToolConnection {
  readonly #socket: Socket;
  readonly #sandboxes: Sandboxes;
  readonly #networks: Networks;
  readonly #reader = new FrameReader();
  readonly #programs = new Map<number, Program>();
  /** Names of the sandboxes that it opened. */
  readonly #own = new Set<string>();
  readonly #owners = new Set<string>();

  constructor(socket: Socket, sandboxes: Sandboxes, networks: Networks) {
    this.#socket = socket;
    this.#sandboxes = sandboxes;
    this.#networks = networks;
    socket.setMaxListeners(0);
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const frame of this.#reader.push(chunk)) this.#receive(frame);
      } catch (error) {
        process.stderr.write(`Invalid request: ${harmlessLine(errorText(error))}\n`);
        socket.destroy();
      }
    });
    socket.on('error', () => undefined); // `close` follows
    socket.on('close', () => void this.#end());
  }

  #send(event: ToolEvent): void {
    writeControl(this.#socket, event);
  }

  #receive({ kind, content }: Frame): void {
    if (kind === KIND.data) {
      const { id, pipe, bytes } = readData(content);
      const input = this.#programs.get(id)?.inputs.get(pipe);
      if (bytes.length === 0) input?.end();
      else if (input?.writable === true) input.write(bytes);
    } else if (kind === KIND.message) {
      const { id, message } = readMessage(content);
      const child = this.#programs.get(id)?.child;
      const value: unknown = deserialize(message);
      if (child?.connected === true && typeof value === 'object' && value !== null) child.send(value, () => undefined);
    } else this.#handle(toolRequest.parse(JSON.parse(content.toString('utf8'))));
  }

  #handle(request: ToolRequest): void {
    switch (request.type) {
      case 'open':
        this.#answer(request.id, this.#open(request));
        return;
      case 'noSandbox':
        this.#answer(request.id, noSandboxHere());
        return;
      case 'close':
        this.#answer(request.id, this.#close(request.sandbox));
        return;
      case 'spawn':
        this.#spawn(request);
        return;
      case 'kill': {
        const program = this.#programs.get(request.id);
        if (program?.exited === false) killGroup(program.child);
        return;
      }
      case 'endStrays':
        this.#answer(request.id, endStrays(request.owner));
        return;
      case 'clear':
        this.#answer(request.id, clearFolder(request.folder));
        return;
      case 'ping':
        this.#send({ type: 'pong' });
    }
  }

  #answer(id: number, work: Promise<unknown>): void {
    work.then(
      (text) => this.#send({ type: 'done', id, ...(typeof text === 'string' ? { text } : {}) }),
      (error: unknown) => {
        const known = StudioError.is(error) ? error : undefined;
        this.#send({
          type: 'failed',
          id,
          error: {
            code: known?.code ?? 'unavailable',
            message: known?.message ?? errorText(error),
            ...(known?.hint === undefined ? {} : { hint: known.hint }),
          },
        });
      },
    );
  }

  async #open({ sandbox, mode, view, owner }: Extract<ToolRequest, { type: 'open' }>): Promise<void> {
    this.#own.add(sandbox);
    const scratch = scratchIn(path.join(tmpdir(), 'sandboxes'));
    const opened = await openSandbox({ mode }, { ...view, scratch, network: this.#network(view) }, groupsOf(owner));
    if (this.#own.has(sandbox) && !this.#socket.destroyed) this.#sandboxes.set(sandbox, opened);
    else await opened?.end();
  }

  #network({ network }: ViewRequest): Parameters<typeof openSandbox>[1]['network'] {
    if (typeof network === 'boolean') return network;
    const { allow } = network;
    return { allow, open: () => this.#networks.open(allow) };
  }

  async #close(name: string): Promise<void> {
    this.#own.delete(name);
    const sandbox = this.#sandboxes.get(name);
    this.#sandboxes.delete(name);
    await sandbox?.end();
  }

  #spawn(request: SpawnRequest): void {
    const { id } = request;
    let child: GroupProcess;
    try {
      if (!this.#sandboxes.has(request.sandbox)) throw new Error('its sandbox has ended');
      if (this.#programs.size >= MAX_PROGRAMS || this.#programs.has(id)) throw new Error('there are too many programs');
      this.#owners.add(request.owner);
      child = this.#start(request);
    } catch (error) {
      this.#failed(id, error);
      return;
    }
    const program: Program = { child, inputs: inputsOf(child, request.commands), exited: false };
    this.#programs.set(id, program);
    for (const input of program.inputs.values()) input.on('error', () => undefined); // its exit is reported
    for (const [pipe, stream] of outputsOf(child, request.commands)) this.#forward(id, pipe, stream);
    child.once('spawn', () => this.#send({ type: 'spawned', id }));
    child.on('message', (message) => writeMessage(this.#socket, id, serialize(message)));
    child.on('error', (error) => {
      if (isStarted(child)) return; // a message could not be sent
      this.#programs.delete(id);
      this.#failed(id, error);
    });
    child.on('exit', (code, signal) => {
      this.#send({ type: 'exit', id, code, signal });
      // Its children may keep running and hold its pipes open.
      killGroup(child);
      program.exited = true;
    });
    child.on('close', () => {
      if (this.#programs.delete(id)) this.#send({ type: 'closed', id });
    });
  }

  #failed(id: number, error: unknown): void {
    const code = systemCodeOf(error);
    this.#send({ type: 'error', id, message: errorText(error), ...(code === undefined ? {} : { code }) });
  }

  #start(request: SpawnRequest): GroupProcess {
    const { cwd, limits, messages, owner } = request;
    const sandbox = this.#sandboxes.get(request.sandbox);
    const env = { ...places(), ...request.env };
    if (!request.commands)
      return spawnGroup(
        { file: request.file, args: request.args, cwd, env, limits, sandbox, messages },
        groupsOf(owner),
      );
    const { file, args } = sandbox?.command({ file: request.file, args: request.args, cwd, setup: '' }) ?? request;
    const child = spawn(file, [...args], {
      cwd,
      env: marked({ ...env, ...sandbox?.env }, owner),
      detached: OWN_GROUP,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    });
    return child;
  }

  #forward(id: number, pipe: number, stream: Readable): void {
    stream.on('data', (chunk: Buffer) => {
      if (writeData(this.#socket, id, pipe, chunk)) return;
      stream.pause();
      this.#socket.once('drain', () => stream.resume());
    });
    stream.on('end', () => writeEnd(this.#socket, id, pipe));
    stream.on('error', () => undefined); // its exit is reported
  }

  /** The worker is gone, and with it everything that it started. */
  async #end(): Promise<void> {
    for (const { child, exited } of this.#programs.values()) if (!exited) killGroup(child);
    this.#programs.clear();
    await Promise.allSettled([...this.#own].map((name) => this.#close(name)));
    await Promise.allSettled([...this.#owners].map((owner) => endStrays(owner)));
  }
}

function inputsOf(child: GroupProcess, commands: boolean): Map<number, Writable> {
  const inputs = new Map<number, Writable>([[0, child.stdin]]);
  const stream = commands && 'stdio' in child ? (child as ChildProcess & GroupProcess).stdio[3] : undefined;
  if (stream !== null && stream !== undefined && 'write' in stream) inputs.set(3, stream);
  return inputs;
}

function outputsOf(child: GroupProcess, commands: boolean): Map<number, Readable> {
  const outputs = new Map<number, Readable>([
    [1, child.stdout],
    [2, child.stderr],
  ]);
  const stream = commands && 'stdio' in child ? (child as ChildProcess & GroupProcess).stdio[4] : undefined;
  if (stream !== null && stream !== undefined && 'read' in stream) outputs.set(4, stream);
  return outputs;
}

/** The server's container ends with the server, so that nothing has to be registered. */
function groupsOf(owner: string): ProcessGroups {
  return { owner, add: () => undefined, remove: () => undefined };
}

function places(): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of PLACES) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}

async function noSandboxHere(): Promise<string | undefined> {
  const support = await sandboxSupport();
  return support.works ? undefined : support.reason;
}
