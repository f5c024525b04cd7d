/**
 * The thread that runs a user's module: loads its bundle, then handles requests of the host (protocol.ts). It is
 * started often, up to once per module and rollout, so it imports little.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { shortageOf } from '../../common/shortage.ts';
import type { JudgeContext, OpenWorld, ToolContext, ToolDefinition, WorldSession } from '../sdk.ts';
import type { FromThread, Operation, ThreadStart, Thrown, ToThread } from './protocol.ts';
import { Asks } from './thread/asks.ts';
import { CallSocket } from './thread/callSocket.ts';
import type { Tools } from './thread/definitions.ts';
import {
  ArgumentsError,
  checkArguments,
  checkResult,
  isTool,
  readTools,
  sessionProblem,
} from './thread/definitions.ts';
import { guard, watchChildren } from './thread/guards.ts';
import { inspected } from './thread/inspect.ts';
import { NO_STATE } from './thread/noState.ts';
import { CallOutput } from './thread/output.ts';
import { encodeJson, encodeResult, ResultError } from './thread/result.ts';

/** State of one operation, available in its timers and promises (AsyncLocalStorage). */
interface RunningCall {
  readonly id: number;
  readonly abort: AbortController;
  readonly output: CallOutput;
  readonly inspect: boolean;
  readonly mark: string | undefined;
  progressAt: number;
  /** Whether a tool read `state` while no world is open. */
  stateless: boolean;
  /** Whether its answer can take the way that the call came, and need not wait for what was sent through the port. */
  direct: boolean;
}

type CallReply = Omit<Extract<FromThread, { type: 'done' }>, 'type' | 'id' | 'printed'>;

/** A failed operation that may have changed the world. */
class CallFailure extends Error {
  readonly changes: string | undefined;
  constructor(cause: unknown, changes: string | undefined) {
    super('failed', { cause });
    this.changes = changes;
  }
}

const PROGRESS_MS = 100;
const EMPTY_REPLY: CallReply = { text: 'null', form: 'json' };

if (parentPort === null) throw new Error('This file runs in a worker thread.');
const port = parentPort;
const running = new Map<number, RunningCall>();
const current = new AsyncLocalStorage<RunningCall>();
const outside = newRunning(0);
// in a thread, it contains only what the host set
const env = Object.freeze({ ...process.env }) as Record<string, string>;

const asks = new Asks((question) => send(question));
let calls: CallSocket | undefined;
/** Whether the port holds what was reported after its call had ended: the next answer must not arrive before it. */
let isBehind = false;
let exported: Record<string, unknown> = {};
let tools: Tools = { byName: new Map(), wire: [], problems: [] };
let world: { session: WorldSession; tools: Tools } | undefined;

/** Sends a message other than an answer. No answer that belongs after it may arrive before it. */
function send(message: FromThread): void {
  if ('id' in message) {
    const isLate = !running.has(message.id);
    for (const call of running.values()) if (isLate || message.id === call.id) call.direct = false;
    isBehind ||= isLate;
  }
  port.postMessage(message);
}

function sendAnswer(answer: FromThread, direct: boolean): void {
  if (direct && calls?.send(answer) === true) return;
  port.postMessage(answer, answer.type === 'done' && answer.snapshot !== undefined ? [answer.snapshot.buffer] : []);
  isBehind = false;
}

function newRunning(id: number, { inspect = false, mark }: { inspect?: boolean; mark?: string } = {}): RunningCall {
  const output = new CallOutput(
    (printed) => {
      send({ type: 'print', id, printed });
    },
    () => {
      reportExit('printed too much output');
    },
  );
  return { id, abort: new AbortController(), output, inspect, mark, progressAt: 0, stateless: false, direct: false };
}

/** Reports to the host why the thread exits, then exits. */
function reportExit(how: string): never {
  send({ type: 'exit', id: current.getStore()?.id ?? 0, how, stack: new Error('exit').stack ?? '' });
  const unsent = calls?.unsent;
  if (unsent !== undefined) sendAnswer(unsent, false);
  return exit(0);
}

function describe(value: unknown, kind: Thrown['kind'] = 'thrown'): Thrown {
  if (value instanceof ArgumentsError) return { kind: 'invalid', message: value.message };
  if (value instanceof ResultError) return { kind: 'result', message: value.message };
  if (value instanceof Error) {
    const shortage = shortageOf(value);
    const cause = value.cause instanceof Error ? ` (cause: ${value.cause.message})` : '';
    return {
      kind,
      message: `${value.message === '' ? value.name : value.message}${cause}`,
      ...(value.stack === undefined ? {} : { stack: value.stack }),
      ...(shortage === undefined ? {} : { shortage }),
      ...fileOf(value),
    };
  }
  let text: string;
  try {
    text = typeof value === 'string' ? value : encodeJson(value, 'It threw');
  } catch {
    text = Object.prototype.toString.call(value);
  }
  return { kind, message: `It threw ${text}` };
}

function fileOf(error: Error & { code?: unknown; path?: unknown }): Pick<Thrown, 'file'> {
  return typeof error.code === 'string' && typeof error.path === 'string'
    ? { file: { code: error.code, path: error.path } }
    : {};
}

async function load(): Promise<void> {
  const start = workerData as ThreadStart; // set by our host
  const { url, cache } = start;
  enableCompileCache(cache);
  const connecting = CallSocket.open(start.calls, (message) => receive(message, true));
  try {
    exported = exportsOf((await import(url)) as Record<string, unknown>);
    // A terminated thread does not write the cache.
    flushCompileCache();
    tools = readTools(exported);
    calls = await connecting;
    send({
      type: 'ready',
      tools: JSON.stringify(tools.wire),
      exports: Object.keys(exported),
      problems: tools.problems,
    });
  } catch (error) {
    send({ type: 'failed', error: describe(error) });
  }
}

/**
 * Returns the exports of a module by name. The bundler turns the exports of a CommonJS module into the default export.
 */
function exportsOf(module: Record<string, unknown>): Record<string, unknown> {
  const whole = module['default'];
  if (Object.keys(module).length > 1 || typeof whole !== 'object' || whole === null || isTool(whole)) return module;
  return { ...whole };
}

async function operate(op: Operation, call: RunningCall): Promise<CallReply> {
  switch (op.kind) {
    case 'call':
      return callTool(op, call);
    case 'open':
      return openWorld(op);
    case 'verify': {
      const { session } = openedWorld();
      if (session.verify === undefined) throw new Error('This world has no verify.');
      const { answer, expected, messages } = op;
      return encodeResult(
        await session.verify({ answer, expected, messages, state: session.state }, judgeContext(call)),
      );
    }
    case 'snapshot': {
      const bytes = await openedWorld().session.snapshot?.();
      if (!(bytes instanceof Uint8Array)) throw new ResultError('snapshot must return a Uint8Array.');
      // Copies the bytes so that they can be transferred: the original may be a view of a live buffer.
      return { ...EMPTY_REPLY, snapshot: new Uint8Array(bytes) };
    }
    case 'close': {
      const closing = world?.session;
      world = undefined;
      await closing?.close?.();
      return EMPTY_REPLY;
    }
    case 'export': {
      const target = exported[op.name];
      if (typeof target !== 'function') throw new Error(`The module does not export a function "${op.name}".`);
      return encodeResult(await (target as (...args: readonly unknown[]) => unknown)(...op.args, judgeContext(call)));
    }
  }
}

async function callTool(op: Extract<Operation, { kind: 'call' }>, call: RunningCall): Promise<CallReply> {
  const tool = (world?.tools ?? tools).byName.get(op.name);
  if (tool === undefined) throw new Error(`Unknown tool "${op.name}".`);
  try {
    const args = await checkArguments(tool, op.args);
    // checked by the schema above
    const runTool = (): unknown => tool.run(args as Parameters<ToolDefinition['run']>[0], contextOf(op, call));
    const result = encodeResult(
      await checkResult(tool, await (call.inspect ? debugged(tool, runTool, call.id) : runTool())),
    );
    return { ...result, ...(await worldChanges()) };
  } catch (error) {
    const partial = await worldChanges().catch((): { changes?: string } => ({}));
    throw new CallFailure(error, partial.changes);
  }
}

function debugged(tool: ToolDefinition, runTool: () => unknown, id: number): Promise<unknown> {
  return inspected(tool, runTool, {
    opened: (url) => {
      send({ type: 'inspector', id, url });
    },
    attached: () => {
      send({ type: 'inspecting', id });
    },
  });
}

async function worldChanges(): Promise<{ changes?: string }> {
  const changes = await world?.session.diff?.();
  return changes === undefined || changes.length === 0 ? {} : { changes: encodeJson(changes, 'diff returned') };
}

function contextOf(op: Extract<Operation, { kind: 'call' }>, call: RunningCall): ToolContext {
  return {
    signal: call.abort.signal,
    seed: op.seed,
    cwd: op.cwd,
    env,
    secrets: Object.freeze({ ...op.secrets }),
    get state() {
      call.stateless ||= world === undefined;
      return world?.session.state;
    },
    ask: asks.of(call.id, () => running.has(call.id)),
    log: (text) => {
      call.output.print('out', `${text}\n`);
    },
    progress: (text) => {
      if (text !== undefined) call.output.print('out', `${text}\n`);
      const now = performance.now();
      if (now - call.progressAt < PROGRESS_MS) return;
      call.progressAt = now;
      send({ type: 'progress', id: call.id });
    },
  };
}

function judgeContext(call: RunningCall): JudgeContext {
  return { signal: call.abort.signal, ask: asks.of(call.id, () => running.has(call.id)) };
}

/** Adds to an error that `state` is undefined because no world is open. */
function aboutState(error: Thrown, { stateless }: RunningCall): Thrown {
  return stateless && error.kind === 'thrown' && /\bundefined\b/.test(error.message)
    ? { ...error, message: `${NO_STATE}: ${error.message}` }
    : error;
}

async function openWorld(op: Extract<Operation, { kind: 'open' }>): Promise<CallReply> {
  const open = exported['open'];
  if (typeof open !== 'function') throw new Error("A world's module must export a function `open`.");
  const session = await (open as OpenWorld)(op.task, op.seed, op.from);
  const wrong = sessionProblem(session);
  if (wrong !== undefined) throw new ResultError(wrong);
  const definitions = readTools(session.tools);
  const [problem, ...more] = definitions.problems;
  if (problem !== undefined)
    throw Object.assign(new Error([problem, ...more].map(({ text }) => text).join('\n')), { stack: problem.defined });
  world = { session, tools: definitions };
  return {
    text: JSON.stringify({
      tools: definitions.wire,
      verify: session.verify !== undefined,
      snapshot: session.snapshot !== undefined,
    }),
    form: 'json',
  };
}

function openedWorld(): { session: WorldSession; tools: Tools } {
  if (world === undefined) throw new Error('No world is open.');
  return world;
}

async function run({ id, op, ...how }: Extract<ToThread, { type: 'run' }>, direct: boolean): Promise<void> {
  const call = newRunning(id, how);
  call.direct = direct && !isBehind;
  running.set(id, call);
  let answer: FromThread;
  try {
    answer = { type: 'done', id, ...(await current.run(call, operate, op, call)) };
  } catch (error) {
    const failed = error instanceof CallFailure ? error : undefined;
    answer = {
      type: 'error',
      id,
      error: aboutState(describe(failed === undefined ? error : failed.cause), call),
      ...(failed?.changes === undefined ? {} : { changes: failed.changes }),
    };
  }
  running.delete(id);
  asks.forget(id);
  const printed = call.output.takeUnsent();
  const whole: FromThread = printed === undefined ? answer : { ...answer, printed };
  sendAnswer(whole, call.direct);
}

function receive(message: ToThread, direct: boolean): void {
  if (message.type === 'run') {
    void run(message, direct);
    return;
  }
  if (message.type === 'answer') {
    asks.received(message);
    return;
  }
  send({ type: 'aborting', id: message.id });
  running.get(message.id)?.abort.abort();
}

const exit = guard({
  exit: reportExit,
  print: (stream, text) => {
    (current.getStore() ?? outside).output.print(stream, text);
  },
  late: (error) => {
    send({ type: 'late', id: current.getStore()?.id ?? 0, error: describe(error) });
  },
});
if ((workerData as ThreadStart).startsProcesses)
  watchChildren(
    () => current.getStore()?.mark,
    (mark, pid, alive) => {
      send({ type: 'child', mark, pid, alive });
    },
  );
port.on('message', (message: ToThread) => receive(message, false));
await load();
