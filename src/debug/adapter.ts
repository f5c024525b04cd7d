/**
 * Implements the Debug Adapter Protocol on top of a debug session. Methods handle the requests that start, end, or move
 * it; handlers by topic (protocol/) handle the others.
 */

import {
  Event,
  InitializedEvent,
  OutputEvent,
  DebugSession as ProtocolSession,
  Response,
  TerminatedEvent,
} from '@vscode/debugadapter';
import type { DebugProtocol } from '@vscode/debugprotocol';
import { Emitter } from '../common/emitter.ts';
import { errorText, StudioError } from '../common/errors.ts';
import { readArguments } from './arguments.ts';
import { type ChildConfiguration, type ChildDebugger, debugCall } from './childDebugger.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';
import { cutOf } from './forking.ts';
import { Inspection, type SentFrame } from './inspection.ts';
import { breakpointHandlers } from './protocol/breakpointRequests.ts';
import { CAPABILITIES } from './protocol/capabilities.ts';
import { customRequest, runRolloutRequest } from './protocol/customRequest.ts';
import { toolTargets, trajectoryTarget } from './protocol/gotoTargets.ts';
import type { Handler, RequestContext } from './protocol/handlers.ts';
import { inspectionHandlers } from './protocol/inspectionRequests.ts';
import { Responder } from './protocol/responder.ts';
import { sendSessionEvents } from './protocol/sessionEvents.ts';
import { DebugSession } from './session.ts';
import type { DebugPorts, ForkRequest, ForkResult } from './sessionPorts.ts';
import { SourceReferences } from './sources/sourceReferences.ts';

/** Requests whose errors are answers: in the debug console, a watch, or a hover. An inline value stays empty. */
const QUIET = new Set(['evaluate', 'completions']);
const MAX_CLIENT_NAME = 60;
/** How long a client may take to start a child session. */
const START_MS = 30_000;

interface AdapterOptions extends DebugPorts {
  /** Whether the client shows trajectories as documents with URIs `rollout:…`; otherwise it requests their text. */
  readonly ownDocuments: boolean;
  /** Starts child sessions; by default with the client's `startDebugging`. */
  readonly children?: ChildDebugger;
}

export class RolloutDebugAdapter extends ProtocolSession {
  /** Fired when the session is over, so that a process that runs only for it may end. */
  readonly onClosed = new Emitter<undefined>();
  readonly #options: AdapterOptions;
  readonly #over = new AbortController();
  readonly #responder: Responder;
  readonly #sources: SourceReferences;
  readonly #handlers: ReadonlyMap<string, Handler>;
  #inspection: Inspection | undefined;
  #session: DebugSession | undefined;
  /** Whether the user knows that code cannot be debugged here. */
  #reportedCode = false;
  #children: ChildDebugger;
  /** The client's name for people. */
  #client: string | undefined;

  constructor(options: AdapterOptions) {
    super();
    this.#options = options;
    this.#sources = new SourceReferences(options.ownDocuments);
    this.#responder = new Responder(
      {
        response: (response) => this.sendResponse(response),
        error: (response, message) => this.sendErrorResponse(response, message),
      },
      this.#over.signal,
    );
    const context: RequestContext = {
      sources: this.#sources,
      session: () => this.#requireSession(),
      inspection: () => this.#requireInspection(),
      send: (event) => this.sendEvent(event),
    };
    this.#handlers = new Map(Object.entries({ ...breakpointHandlers(context), ...inspectionHandlers(context) }));
    this.#children = options.children ?? {
      available: false,
      start: (configuration) => this.#startDebugging(configuration),
    };
    this.setDebuggerLinesStartAt1(true);
    this.setDebuggerColumnsStartAt1(true);
  }

  protected override dispatchRequest(request: DebugProtocol.Request): void {
    if (request.command === 'initialize') {
      const { arguments: args } = request as DebugProtocol.InitializeRequest;
      // This is the protocol's default, but the base class refuses a client that omits it.
      args.pathFormat ??= 'path';
    }
    const handle = this.#handlers.get(request.command);
    if (handle === undefined) super.dispatchRequest(request);
    else
      this.#responder.answer(new Response(request), (signal) => handle(request.arguments as never, signal), {
        request,
        quiet: QUIET.has(request.command),
      });
  }

  protected override initializeRequest(
    response: DebugProtocol.InitializeResponse,
    args: DebugProtocol.InitializeRequestArguments,
  ): void {
    if (args.supportsStartDebuggingRequest === true && this.#options.children === undefined)
      this.#children = { ...this.#children, available: true };
    this.#client = args.clientName?.trim().slice(0, MAX_CLIENT_NAME) || undefined;
    response.body = CAPABILITIES;
    this.sendResponse(response);
  }

  protected override launchRequest(
    response: DebugProtocol.LaunchResponse,
    args: DebugProtocol.LaunchRequestArguments,
    request?: DebugProtocol.Request,
  ): void {
    this.#open('launch', response, args, request);
  }

  protected override attachRequest(
    response: DebugProtocol.AttachResponse,
    args: DebugProtocol.AttachRequestArguments,
    request?: DebugProtocol.Request,
  ): void {
    this.#open('attach', response, args, request);
  }

  protected override configurationDoneRequest(response: DebugProtocol.ConfigurationDoneResponse): void {
    // Report the first stop after the response.
    this.sendResponse(response);
    this.#requireSession()
      .start()
      .catch((error: unknown) => this.#report(error));
  }

  protected override disconnectRequest(
    response: DebugProtocol.DisconnectResponse,
    args?: DebugProtocol.DisconnectArguments,
  ): void {
    this.#responder.answer(
      response,
      async () => {
        this.#over.abort();
        await this.#session?.close(args?.terminateDebuggee);
        this.#session = undefined;
      },
      { then: () => this.shutdown() },
    );
  }

  /** Handles a disconnected client: ends what it launched; what it attached to continues. */
  override shutdown(): void {
    this.#over.abort();
    const session = this.#session;
    this.#session = undefined;
    (session?.close() ?? Promise.resolve()).catch(() => undefined).finally(() => this.onClosed.fire(undefined));
  }

  protected override terminateRequest(response: DebugProtocol.TerminateResponse): void {
    this.#responder.answer(response, async () => {
      await this.#session?.close(true);
      this.sendEvent(new TerminatedEvent());
    });
  }

  protected override cancelRequest(response: DebugProtocol.CancelResponse, args: DebugProtocol.CancelArguments): void {
    if (args.requestId !== undefined) this.#responder.cancel(args.requestId);
    this.sendResponse(response);
  }

  protected override threadsRequest(response: DebugProtocol.ThreadsResponse): void {
    this.#responder.answer(response, () => ({
      threads: (this.#session?.threads.all ?? []).map(({ id, name }) => ({ id, name })),
    }));
  }

  // ---- moves

  protected override continueRequest(
    response: DebugProtocol.ContinueResponse,
    args: DebugProtocol.ContinueArguments,
  ): void {
    response.body = { allThreadsContinued: !this.#requireSession().isWholeBatch };
    this.#move(response, args.threadId, (rollout) => this.#requireSession().moves.continue(rollout));
  }

  protected override reverseContinueRequest(
    response: DebugProtocol.ReverseContinueResponse,
    args: DebugProtocol.ReverseContinueArguments,
  ): void {
    this.#move(response, args.threadId, (rollout) => this.#requireSession().moves.run(rollout, 'backward'));
  }

  protected override nextRequest(response: DebugProtocol.NextResponse, args: DebugProtocol.NextArguments): void {
    this.#move(response, args.threadId, (rollout) => this.#requireSession().moves.step(rollout, 'next'));
  }

  protected override stepInRequest(response: DebugProtocol.StepInResponse, args: DebugProtocol.StepInArguments): void {
    this.#move(response, args.threadId, (rollout) =>
      args.targetId === undefined
        ? this.#requireSession().moves.step(rollout, 'into', this.#children.available)
        : this.#requireSession().moves.goTo(rollout, args.targetId),
    );
  }

  protected override stepOutRequest(
    response: DebugProtocol.StepOutResponse,
    args: DebugProtocol.StepOutArguments,
  ): void {
    this.#move(response, args.threadId, (rollout) => this.#requireSession().moves.step(rollout, 'out'));
  }

  protected override stepBackRequest(
    response: DebugProtocol.StepBackResponse,
    args: DebugProtocol.StepBackArguments,
  ): void {
    this.#move(response, args.threadId, (rollout) => this.#requireSession().moves.stepBack(rollout));
  }

  protected override pauseRequest(response: DebugProtocol.PauseResponse, args: DebugProtocol.PauseArguments): void {
    this.#responder.answer(response, () =>
      this.#requireSession().moves.pause(this.#requireSession().threads.get(args.threadId).rollout),
    );
  }

  protected override gotoTargetsRequest(
    response: DebugProtocol.GotoTargetsResponse,
    args: DebugProtocol.GotoTargetsArguments,
  ): void {
    this.#responder.answer(response, () => ({ targets: this.#gotoTargets(args) }));
  }

  protected override gotoRequest(response: DebugProtocol.GotoResponse, args: DebugProtocol.GotoArguments): void {
    this.#move(response, args.threadId, (rollout) => this.#requireSession().moves.goTo(rollout, args.targetId, true));
  }

  protected override restartFrameRequest(
    response: DebugProtocol.RestartFrameResponse,
    args: DebugProtocol.RestartFrameArguments,
  ): void {
    this.#responder.answer(response, async () => {
      await this.#fork(this.#requireInspection().frame(args.frameId), { acceptIrreversible: false, runs: {} });
    });
  }

  protected override customRequest(command: string, response: DebugProtocol.Response, args: unknown): void {
    this.#responder.answer(response, () => this.#custom(command, args));
  }

  async #custom(command: string, args: unknown): Promise<unknown> {
    const request = customRequest.parse({ ...(typeof args === 'object' ? args : {}), command });
    if (request.command === 'fork') {
      const { frameId, acceptIrreversible, file, agent, model, endpoint } = request;
      return this.#fork(this.#requireInspection().frame(frameId), {
        acceptIrreversible,
        runs: { file, agent, model, endpoint },
      });
    }
    return runRolloutRequest(request, this.#rollout(request.rollout), this.#requireSession());
  }

  // ---- session

  #open(
    how: 'launch' | 'attach',
    response: DebugProtocol.Response,
    args: unknown,
    request: DebugProtocol.Request | undefined,
  ): void {
    this.#responder.answer(
      response,
      async (signal) => {
        const configuration = readArguments(how, args);
        const session = new DebugSession(this.#options, configuration, this.#options.nameIn(this.#client));
        this.#session = session;
        this.#inspection = new Inspection(session, this.#sources.referenceOf);
        this.#listen(session);
        await session.open(signal);
        this.sendEvent(new InitializedEvent());
      },
      { request },
    );
  }

  #listen(session: DebugSession): void {
    session.onStopped.event(() => this.#inspection?.forget());
    sendSessionEvents(session, this.#sources.referenceOf, (event) => this.sendEvent(event));
    const reportOnce = (text: string): void => {
      if (!this.#reportedCode) this.sendEvent(new OutputEvent(`${text}\n`, 'console'));
      this.#reportedCode = true;
    };
    session.onNoCode.event((tool) =>
      reportOnce(
        `Cannot step into the code of ${tool}: tools can be debugged only if they run on this machine and the store ` +
          'is a folder.',
      ),
    );
    session.onCall.event(
      (call) =>
        void debugCall(this.#children, call).then((problem) => {
          if (problem !== undefined) reportOnce(problem);
        }),
    );
  }

  /** Requests a child session from the client. */
  #startDebugging({ request, ...configuration }: ChildConfiguration): Promise<boolean> {
    return new Promise((resolve) => {
      this.sendRequest('startDebugging', { request, configuration }, START_MS, (response) => {
        resolve(response.success);
      });
    });
  }

  /** Responds, then moves: a client expects the response before the resulting stop. */
  #move(
    response: DebugProtocol.Response,
    thread: number,
    move: (rollout: DebuggedRollout) => void | Promise<void>,
  ): void {
    const { rollout } = this.#requireSession().threads.get(thread);
    this.#inspection?.forget();
    this.sendResponse(response);
    Promise.resolve()
      .then(() => move(rollout))
      .catch((error: unknown) => this.#report(error));
  }

  async #fork(
    { frame, rollout }: SentFrame,
    how: Pick<ForkRequest, 'acceptIrreversible' | 'runs'>,
  ): Promise<ForkResult> {
    const cut = cutOf(frame, rollout);
    if (cut === undefined)
      throw new StudioError('conflict', 'Cannot fork the rollout from this frame.', {
        hint: 'Select the frame of a step or a tool.',
      });
    const fork = await this.#requireSession().fork(rollout, cut, how);
    this.sendEvent(new Event('rolloutForked', { rollout: rollout.debuggee.rollout, cut, batch: fork.batch }));
    return fork;
  }

  /** Returns the stop on a line of a trajectory, or the calls of the tools that a line of a file defines. */
  #gotoTargets({ source, line }: DebugProtocol.GotoTargetsArguments): DebugProtocol.GotoTarget[] {
    const trajectory = this.#sources.rolloutOf(source, this.#requireSession().rollouts);
    const target = trajectory === undefined ? undefined : trajectoryTarget(trajectory, line);
    return target === undefined ? toolTargets(this.#rollout(undefined), source.path, line) : [target];
  }

  /** Reports a failure outside of a request. */
  #report(error: unknown): void {
    if (!StudioError.is(error, 'cancelled')) this.sendEvent(new OutputEvent(`${errorText(error)}\n`, 'important'));
  }

  #requireInspection(): Inspection {
    if (this.#inspection === undefined) throw new StudioError('usage', 'Nothing is being debugged.');
    return this.#inspection;
  }

  #requireSession(): DebugSession {
    if (this.#session === undefined) throw new StudioError('usage', 'Nothing is being debugged.');
    return this.#session;
  }

  /** Returns the rollout for a command: the specified one, or else the only one. */
  #rollout(id: string | undefined): DebuggedRollout {
    const { rollouts } = this.#requireSession();
    const rollout = id === undefined ? rollouts[0] : rollouts.find((candidate) => candidate.debuggee.rollout === id);
    if (rollout === undefined)
      throw new StudioError(
        'not_found',
        id === undefined ? 'No rollout is held.' : `Rollout ${id} is not part of this debug session.`,
      );
    return rollout;
  }
}
