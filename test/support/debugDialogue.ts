/** A dialogue with `rollout dap` as an editor has it, using the Debug Adapter Protocol's own test client. */

import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { DebugClient } from '@vscode/debugadapter-testsupport';
import type { DebugProtocol } from '@vscode/debugprotocol';
import { Emitter } from '../../src/common/emitter.ts';
import type { Json } from '../../src/common/json.ts';

const MAIN = path.join(import.meta.dirname, 'dapMain.mjs');
const PATIENCE_MS = 60_000;

export interface Setup {
  readonly functions?: DebugProtocol.FunctionBreakpoint[];
  readonly lines?: { readonly file: string; readonly breakpoints: DebugProtocol.SourceBreakpoint[] };
  readonly exceptions?: DebugProtocol.ExceptionFilterOptions[];
}

/** A session that the adapter requests from the editor. */
export interface Child {
  readonly request: string;
  readonly configuration: Readonly<Record<string, unknown>>;
}

/** The top of the call stack at a stop. */
export interface StopLocation {
  readonly reason: string;
  readonly top: string;
  readonly place: string;
}

export class DebugDialogue {
  readonly client: DebugClient;
  readonly output: string[] = [];
  /** Reported breakpoints, in the order they were set. */
  readonly breakpoints: DebugProtocol.Breakpoint[] = [];
  /** Sessions that the adapter requested. */
  readonly onChild = new Emitter<Child>();
  /** Whether the editor refuses to start sessions. */
  refusesChildren = false;
  /** The editor's name, if it says it. */
  clientName: string | undefined;
  /** Failed responses: the request, and whether the editor shows a notification. */
  readonly failures: { readonly command: string; readonly notified: boolean }[] = [];
  #stopped: DebugProtocol.StoppedEvent['body'] | undefined;
  #frames: DebugProtocol.StackFrame[] = [];
  #closed = false;

  constructor(cwd: string, env: NodeJS.ProcessEnv) {
    this.client = new DebugClient(process.execPath, MAIN, 'rollout', {
      cwd,
      env: { ...env, NODE_OPTIONS: '--disable-warning=ExperimentalWarning' },
    });
    this.client.defaultTimeout = PATIENCE_MS;
    this.#answerReverse();
    this.client.on('output', (event: DebugProtocol.OutputEvent) => this.output.push(event.body.output));
  }

  /** Starts the adapter and the session, sets breakpoints, and waits for the first stop. */
  async start(request: 'launch' | 'attach', args: Record<string, Json>, setup: Setup = {}): Promise<StopLocation> {
    await this.client.start();
    await this.client.initializeRequest({
      adapterID: 'rollout',
      linesStartAt1: true,
      columnsStartAt1: true,
      supportsStartDebuggingRequest: true,
      ...(this.clientName === undefined ? {} : { clientName: this.clientName }),
    });
    const ready = this.client.waitForEvent('initialized', PATIENCE_MS);
    const started = this.client.customRequest(request, args);
    await Promise.race([ready, started.then(() => ready)]); // errors in the arguments come as the response
    await this.set(setup);
    return this.#after(async () => {
      await this.client.configurationDoneRequest();
      await started;
    });
  }

  async set({ functions, lines, exceptions }: Setup): Promise<void> {
    if (functions !== undefined)
      this.breakpoints.push(
        ...(await this.client.setFunctionBreakpointsRequest({ breakpoints: functions })).body.breakpoints,
      );
    if (lines !== undefined)
      this.breakpoints.push(
        ...(await this.client.setBreakpointsRequest({ source: { path: lines.file }, breakpoints: lines.breakpoints }))
          .body.breakpoints,
      );
    if (exceptions !== undefined)
      await this.client.setExceptionBreakpointsRequest({ filters: [], filterOptions: exceptions });
  }

  /** Sends a request that resumes the program, and returns the next stop. */
  go(
    request: 'next' | 'stepIn' | 'stepOut' | 'stepBack' | 'continue' | 'reverseContinue' | 'goto',
    more: Record<string, Json> = {},
  ): Promise<StopLocation> {
    return this.#after(() => this.client.customRequest(request, { threadId: this.thread, ...more }));
  }

  /**
   * Steps into the code of a live call and returns the session that the editor should start. `stopped` resolves
   * when the call is over.
   */
  async stepIntoCode(): Promise<{ readonly child: Child; readonly stopped: Promise<StopLocation> }> {
    const child = new Promise<Child>((resolve) => {
      const listening = this.onChild.event((request) => {
        listening.dispose();
        resolve(request);
      });
    });
    const stopped = this.go('stepIn');
    return { child: await child, stopped };
  }

  /** Forks at a frame of the call stack and continues in the fork. */
  restart(frame = 0): Promise<StopLocation> {
    return this.#after(() => this.client.customRequest('restartFrame', { frameId: this.frames[frame]?.id ?? 0 }));
  }

  /** Forks at a frame with overrides for what the fork runs. */
  forkWith(runs: Record<string, Json>, frame = 0): Promise<StopLocation> {
    return this.#after(() => this.client.customRequest('fork', { frameId: this.frames[frame]?.id ?? 0, ...runs }));
  }

  get thread(): number {
    return this.#stopped?.threadId ?? 0;
  }

  get hit(): readonly number[] {
    return this.#stopped?.hitBreakpointIds ?? [];
  }

  get frames(): readonly DebugProtocol.StackFrame[] {
    return this.#frames;
  }

  /** The scopes of a frame with their variables: `name=value`. */
  async scopes(frame = 0): Promise<Record<string, string[]>> {
    const { scopes } = (await this.client.scopesRequest({ frameId: this.frames[frame]?.id ?? 0 })).body;
    const entries = await Promise.all(
      scopes.map(
        async (scope): Promise<[string, string[]]> => [
          scope.name,
          (await this.inside(scope.variablesReference)).map(({ name, value }) => `${name}=${value}`),
        ],
      ),
    );
    return Object.fromEntries(entries);
  }

  async scope(name: string, frame = 0): Promise<number> {
    const { scopes } = (await this.client.scopesRequest({ frameId: this.frames[frame]?.id ?? 0 })).body;
    return scopes.find((scope) => scope.name === name)?.variablesReference ?? 0;
  }

  async inside(
    variablesReference: number,
    page: { start?: number; count?: number } = {},
  ): Promise<DebugProtocol.Variable[]> {
    return (await this.client.variablesRequest({ variablesReference, ...page })).body.variables;
  }

  /** Sets a variable of a scope of the top frame. */
  async edit(scope: string, name: string, value: string): Promise<string> {
    const variablesReference = await this.scope(scope);
    await this.inside(variablesReference);
    return (await this.client.setVariableRequest({ variablesReference, name, value })).body.value;
  }

  async evaluate(expression: string, context?: string): Promise<string> {
    return (
      await this.client.evaluateRequest({
        expression,
        frameId: this.frames[0]?.id ?? 0,
        ...(context === undefined ? {} : { context }),
      })
    ).body.result;
  }

  /** Kills the adapter, as when its editor crashes. */
  kill(): void {
    this.#closed = true;
    const { _adapterProcess: adapter } = this.client as unknown as { readonly _adapterProcess: ChildProcess };
    adapter.kill('SIGKILL'); // the type does not declare its process
  }

  /** May be called repeatedly. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.client.stop(); // it disconnects first
  }

  /** The client knows no reverse requests: each is reported as an event and answered. */
  #answerReverse(): void {
    const inner = this.client as unknown as { dispatch(body: string): void; readonly outputStream: Writable };
    const dispatch = inner.dispatch.bind(inner);
    inner.dispatch = (body) => {
      const message = JSON.parse(body) as DebugProtocol.Request;
      if (message.type !== 'request') {
        this.#noteFailure(message);
        dispatch(body);
        return;
      }
      const answer = JSON.stringify({
        type: 'response',
        seq: 0,
        request_seq: message.seq,
        command: message.command,
        success: !this.refusesChildren,
      });
      inner.outputStream.write(`Content-Length: ${Buffer.byteLength(answer)}\r\n\r\n${answer}`);
      this.onChild.fire(message.arguments as Child);
    };
  }

  #noteFailure(message: DebugProtocol.ProtocolMessage): void {
    if (message.type !== 'response') return;
    const response = message as DebugProtocol.ErrorResponse;
    if (response.success) return;
    this.failures.push({ command: response.command, notified: response.body.error?.showUser === true });
  }

  async #after(act: () => Promise<unknown>): Promise<StopLocation> {
    const stopped = this.client.waitForEvent('stopped', PATIENCE_MS);
    await act();
    this.#stopped = (await stopped).body as DebugProtocol.StoppedEvent['body']; // the client's events are untyped
    this.#frames = (await this.client.stackTraceRequest({ threadId: this.thread })).body.stackFrames;
    const [top] = this.#frames;
    return {
      reason: this.#stopped.reason,
      top: top?.name ?? '',
      place: `${top?.source?.name ?? ''}:${top?.line ?? 0}`,
    };
  }
}
