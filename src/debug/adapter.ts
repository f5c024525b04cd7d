/** Implements the Debug Adapter Protocol on top of a debug session, with a method for each request. */

import path from 'node:path';
import {
  Event,
  InitializedEvent,
  OutputEvent,
  DebugSession as ProtocolSession,
  TerminatedEvent,
  ThreadEvent,
} from '@vscode/debugadapter';
import type { DebugProtocol } from '@vscode/debugprotocol';
import { Emitter } from '../common/emitter.ts';
import { errorText, StudioError } from '../common/errors.ts';
import { readArguments } from './arguments.ts';
import { EXCEPTION_FILTERS } from './breakpoints/exceptions.ts';
import { dataInfo, locations, setExceptions, setFunctions, setLines } from './breakpoints/requests.ts';
import { type ChildConfiguration, type ChildDebugger, debugCall } from './childDebugger.ts';
import { customRequest, needLive } from './customRequest.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';
import type { StopReason } from './debuggee.ts';
import { cutOf } from './forking.ts';
import { stopLabel } from './frames.ts';
import { Inspection, type SentFrame } from './inspection.ts';
import { DebugSession } from './session.ts';
import type { DebugPorts, ForkMade, ForkWish } from './sessionPorts.ts';
import { trajectoryOf } from './sources/frameSource.ts';

const REASONS: Readonly<Record<StopReason, string>> = {
  entry: 'entry',
  step: 'step',
  breakpoint: 'breakpoint',
  exception: 'exception',
  pause: 'pause',
  goto: 'goto',
  input: 'pause',
  lost_server: 'pause',
  end: 'pause',
};

/** How long a client may take to start a child session. */
const START_MS = 30_000;
/** Maximum length of a list of targets. */
const MAX_TARGETS = 100;

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
  /** Cancellable requests, by seq. */
  readonly #requests = new Map<number, AbortController>();
  /** Trajectories whose text was offered; the source reference is the index + 1. */
  readonly #trajectories: DebuggedRollout[] = [];
  #inspection: Inspection | undefined;
  #session: DebugSession | undefined;
  #launched = false;
  #children: ChildDebugger;

  constructor(options: AdapterOptions) {
    super();
    this.#options = options;
    this.#children = options.children ?? {
      available: false,
      start: (configuration) => this.#startDebugging(configuration),
    };
    this.setDebuggerLinesStartAt1(true);
    this.setDebuggerColumnsStartAt1(true);
  }

  /** The protocol's default for `pathFormat` is `path`; the base class refuses a client that leaves it out. */
  protected override dispatchRequest(request: DebugProtocol.Request): void {
    if (request.command === 'initialize') {
      const { arguments: args } = request as DebugProtocol.InitializeRequest;
      args.pathFormat ??= 'path';
    }
    super.dispatchRequest(request);
  }

  protected override initializeRequest(
    response: DebugProtocol.InitializeResponse,
    args: DebugProtocol.InitializeRequestArguments,
  ): void {
    if (args.supportsStartDebuggingRequest === true && this.#options.children === undefined)
      this.#children = { ...this.#children, available: true };
    response.body = {
      supportsConfigurationDoneRequest: true,
      supportsFunctionBreakpoints: true,
      supportsConditionalBreakpoints: true,
      supportsHitConditionalBreakpoints: true,
      supportsLogPoints: true,
      supportsDataBreakpoints: true,
      supportsExceptionFilterOptions: true,
      exceptionBreakpointFilters: EXCEPTION_FILTERS,
      supportsExceptionInfoRequest: true,
      supportsStepBack: true,
      supportsStepInTargetsRequest: true,
      supportsGotoTargetsRequest: true,
      supportsRestartFrame: true,
      supportsSetVariable: true,
      supportsEvaluateForHovers: true,
      supportsCompletionsRequest: true,
      completionTriggerCharacters: ['.', '['],
      supportsClipboardContext: true,
      supportsTerminateRequest: true,
      supportTerminateDebuggee: true,
      supportsDelayedStackTraceLoading: true,
      supportsCancelRequest: true,
      supportsLoadedSourcesRequest: true,
      supportsBreakpointLocationsRequest: true,
      supportsSingleThreadExecutionRequests: true,
    };
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
    this.#need()
      .start()
      .catch((error: unknown) => this.#report(error));
  }

  protected override disconnectRequest(
    response: DebugProtocol.DisconnectResponse,
    args?: DebugProtocol.DisconnectArguments,
  ): void {
    this.#answer(
      response,
      async () => {
        this.#over.abort();
        await this.#session?.close(args?.terminateDebuggee ?? this.#launched);
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
    (session?.close(this.#launched) ?? Promise.resolve())
      .catch(() => undefined)
      .finally(() => this.onClosed.fire(undefined));
  }

  protected override terminateRequest(response: DebugProtocol.TerminateResponse): void {
    this.#answer(response, async () => {
      await this.#session?.close(true);
      this.sendEvent(new TerminatedEvent());
    });
  }

  protected override cancelRequest(response: DebugProtocol.CancelResponse, args: DebugProtocol.CancelArguments): void {
    if (args.requestId !== undefined) this.#requests.get(args.requestId)?.abort();
    this.sendResponse(response);
  }

  // ---- breakpoints

  protected override setBreakPointsRequest(
    response: DebugProtocol.SetBreakpointsResponse,
    args: DebugProtocol.SetBreakpointsArguments,
  ): void {
    this.#answer(response, async () =>
      this.#afterBreakpoints({ breakpoints: setLines(this.#need(), this.#trajectory(args.source), args) }),
    );
  }

  protected override setFunctionBreakPointsRequest(
    response: DebugProtocol.SetFunctionBreakpointsResponse,
    args: DebugProtocol.SetFunctionBreakpointsArguments,
  ): void {
    this.#answer(response, async () => this.#afterBreakpoints({ breakpoints: setFunctions(this.#need(), args) }));
  }

  protected override setExceptionBreakPointsRequest(
    response: DebugProtocol.SetExceptionBreakpointsResponse,
    args: DebugProtocol.SetExceptionBreakpointsArguments,
  ): void {
    this.#answer(response, async () => this.#afterBreakpoints({ breakpoints: setExceptions(this.#need(), args) }));
  }

  protected override dataBreakpointInfoRequest(
    response: DebugProtocol.DataBreakpointInfoResponse,
    args: DebugProtocol.DataBreakpointInfoArguments,
  ): void {
    this.#answer(response, () =>
      dataInfo(
        args.variablesReference === undefined ? undefined : this.#look().find(args.variablesReference, args.name),
      ),
    );
  }

  protected override setDataBreakpointsRequest(
    response: DebugProtocol.SetDataBreakpointsResponse,
    args: DebugProtocol.SetDataBreakpointsArguments,
  ): void {
    this.#answer(response, async () =>
      this.#afterBreakpoints({ breakpoints: this.#need().breakpoints.setData(args.breakpoints) }),
    );
  }

  protected override breakpointLocationsRequest(
    response: DebugProtocol.BreakpointLocationsResponse,
    args: DebugProtocol.BreakpointLocationsArguments,
  ): void {
    this.#answer(response, () => ({ breakpoints: locations(this.#need(), this.#trajectory(args.source), args) }));
  }

  // ---- threads and frames

  protected override threadsRequest(response: DebugProtocol.ThreadsResponse): void {
    this.#answer(response, () => ({ threads: (this.#session?.threads ?? []).map(({ id, name }) => ({ id, name })) }));
  }

  protected override stackTraceRequest(
    response: DebugProtocol.StackTraceResponse,
    args: DebugProtocol.StackTraceArguments,
  ): void {
    this.#answer(response, () => this.#look().stackTrace(args));
  }

  protected override scopesRequest(response: DebugProtocol.ScopesResponse, args: DebugProtocol.ScopesArguments): void {
    this.#answer(response, () => this.#look().scopes(args.frameId));
  }

  protected override variablesRequest(
    response: DebugProtocol.VariablesResponse,
    args: DebugProtocol.VariablesArguments,
    request?: DebugProtocol.Request,
  ): void {
    this.#answer(response, (signal) => this.#look().variables(args, signal), { request });
  }

  protected override setVariableRequest(
    response: DebugProtocol.SetVariableResponse,
    args: DebugProtocol.SetVariableArguments,
  ): void {
    this.#answer(response, async () => {
      const { body, waits } = await this.#look().setVariable(args);
      if (waits)
        this.sendEvent(
          new OutputEvent(
            'The recording is unchanged. Restart Frame forks the rollout from here with this edit.\n',
            'console',
          ),
        );
      return body;
    });
  }

  protected override evaluateRequest(
    response: DebugProtocol.EvaluateResponse,
    args: DebugProtocol.EvaluateArguments,
  ): void {
    this.#answer(response, () => this.#look().evaluate(args));
  }

  protected override completionsRequest(
    response: DebugProtocol.CompletionsResponse,
    args: DebugProtocol.CompletionsArguments,
  ): void {
    this.#answer(response, () => this.#look().completions(args));
  }

  protected override exceptionInfoRequest(
    response: DebugProtocol.ExceptionInfoResponse,
    args: DebugProtocol.ExceptionInfoArguments,
  ): void {
    this.#answer(response, () => this.#look().exceptionInfo(args.threadId));
  }

  // ---- moves

  protected override continueRequest(
    response: DebugProtocol.ContinueResponse,
    args: DebugProtocol.ContinueArguments,
  ): void {
    response.body = { allThreadsContinued: !this.#need().ofBatch };
    this.#move(response, args.threadId, (rollout) => this.#need().goOn(rollout));
  }

  protected override reverseContinueRequest(
    response: DebugProtocol.ReverseContinueResponse,
    args: DebugProtocol.ReverseContinueArguments,
  ): void {
    this.#move(response, args.threadId, (rollout) => this.#need().goBack(rollout));
  }

  protected override nextRequest(response: DebugProtocol.NextResponse, args: DebugProtocol.NextArguments): void {
    this.#move(response, args.threadId, (rollout) => this.#need().step(rollout, 'next'));
  }

  protected override stepInRequest(response: DebugProtocol.StepInResponse, args: DebugProtocol.StepInArguments): void {
    this.#move(response, args.threadId, (rollout) =>
      args.targetId === undefined
        ? this.#need().step(rollout, 'into', this.#children.available)
        : this.#need().goTo(rollout, args.targetId),
    );
  }

  protected override stepOutRequest(
    response: DebugProtocol.StepOutResponse,
    args: DebugProtocol.StepOutArguments,
  ): void {
    this.#move(response, args.threadId, (rollout) => this.#need().step(rollout, 'out'));
  }

  protected override stepBackRequest(
    response: DebugProtocol.StepBackResponse,
    args: DebugProtocol.StepBackArguments,
  ): void {
    this.#move(response, args.threadId, (rollout) => this.#need().back(rollout));
  }

  protected override pauseRequest(response: DebugProtocol.PauseResponse, args: DebugProtocol.PauseArguments): void {
    this.#answer(response, () => this.#need().pause(this.#need().thread(args.threadId).rollout));
  }

  protected override stepInTargetsRequest(
    response: DebugProtocol.StepInTargetsResponse,
    args: DebugProtocol.StepInTargetsArguments,
  ): void {
    this.#answer(response, () => this.#look().stepInTargets(args.frameId));
  }

  protected override gotoTargetsRequest(
    response: DebugProtocol.GotoTargetsResponse,
    args: DebugProtocol.GotoTargetsArguments,
  ): void {
    this.#answer(response, () => ({ targets: this.#gotoTargets(args) }));
  }

  protected override gotoRequest(response: DebugProtocol.GotoResponse, args: DebugProtocol.GotoArguments): void {
    this.#move(response, args.threadId, (rollout) => this.#need().goTo(rollout, args.targetId, true));
  }

  protected override restartFrameRequest(
    response: DebugProtocol.RestartFrameResponse,
    args: DebugProtocol.RestartFrameArguments,
  ): void {
    this.#answer(response, async () => {
      await this.#fork(this.#look().frame(args.frameId), { acceptIrreversible: false, runs: {} });
    });
  }

  // ---- sources

  protected override sourceRequest(response: DebugProtocol.SourceResponse, args: DebugProtocol.SourceArguments): void {
    this.#answer(response, () => {
      const rollout = this.#trajectories[args.sourceReference - 1];
      if (rollout === undefined) throw new StudioError('not_found', 'This trajectory is no longer being debugged.');
      return { content: rollout.document.text, mimeType: 'text/plain' };
    });
  }

  protected override loadedSourcesRequest(response: DebugProtocol.LoadedSourcesResponse): void {
    this.#answer(response, () => ({
      sources: this.#need().rollouts.map((rollout) => trajectoryOf(rollout, this.#referenceOf)),
    }));
  }

  /**
   * `fork {frameId, acceptIrreversible, file, agent, model, endpoint}`, `inject {role, text}`, `skip {result}`, `answer
   * {value}`, `goTo {rollout, seq}`
   * and `text {rollout}`: requests that the protocol does not have.
   */
  protected override customRequest(command: string, response: DebugProtocol.Response, args: unknown): void {
    this.#answer(response, () => this.#custom(command, args));
  }

  async #custom(command: string, args: unknown): Promise<unknown> {
    const request = customRequest.parse({ ...(typeof args === 'object' ? args : {}), command });
    if (request.command === 'fork') {
      const { frameId, acceptIrreversible, file, agent, model, endpoint } = request;
      return this.#fork(this.#look().frame(frameId), { acceptIrreversible, runs: { file, agent, model, endpoint } });
    }
    const rollout = this.#rollout(request.rollout);
    const { live } = rollout.debuggee;
    switch (request.command) {
      case 'inject':
        return needLive(live).inject({ role: request.role, parts: [{ type: 'text', content: request.text }] });
      case 'skip':
        return needLive(live).skip(request.result);
      case 'answer':
        return needLive(live).answer(request.value);
      case 'goTo':
        if (rollout.debuggee.head !== undefined && rollout.cursor?.place.seq !== request.seq)
          this.#need().goTo(rollout, request.seq);
        return undefined;
      case 'text':
        return { text: rollout.document.text };
    }
  }

  // ---- inside

  readonly #referenceOf = (rollout: DebuggedRollout): number | undefined => {
    if (this.#options.ownDocuments) return undefined;
    const index = this.#trajectories.indexOf(rollout);
    return index >= 0 ? index + 1 : this.#trajectories.push(rollout);
  };

  #open(
    how: 'launch' | 'attach',
    response: DebugProtocol.Response,
    args: unknown,
    request: DebugProtocol.Request | undefined,
  ): void {
    this.#answer(
      response,
      async (signal) => {
        const given = readArguments(how, args);
        this.#launched = given.request === 'launch' && given.mode === 'live';
        const session = new DebugSession(this.#options, given);
        this.#session = session;
        this.#inspection = new Inspection(session, this.#referenceOf);
        this.#listen(session);
        await session.open(signal);
        this.sendEvent(new InitializedEvent());
      },
      { request },
    );
  }

  #listen(session: DebugSession): void {
    session.onStopped.event(({ thread, reason, description, hit }) => {
      this.#inspection?.forget();
      const { rollout } = session.thread(thread);
      const place = rollout.cursor?.place;
      this.sendEvent(
        new Event('stopped', {
          reason: REASONS[reason],
          threadId: thread,
          allThreadsStopped: !session.ofBatch,
          ...(description === undefined ? {} : { description, text: description }),
          ...(hit.length === 0 ? {} : { hitBreakpointIds: [...hit] }),
        }),
      );
      if (place !== undefined)
        this.sendEvent(
          new Event('rolloutPlace', { rollout: rollout.debuggee.rollout, ...place, head: rollout.atHead }),
        );
    });
    session.onContinued.event(({ thread }) =>
      this.sendEvent(new Event('continued', { threadId: thread, allThreadsContinued: !session.ofBatch })),
    );
    session.onThread.event(({ reason, thread }) => this.sendEvent(new ThreadEvent(reason, thread)));
    session.onOutput.event(({ text, category, place }) => {
      this.sendEvent(
        new Event('output', {
          output: text,
          category,
          ...(place === undefined
            ? {}
            : {
                source: trajectoryOf(place.rollout, this.#referenceOf),
                line: place.rollout.document.lineOf(place.seq),
              }),
        }),
      );
    });
    session.onCall.event(
      (call) =>
        void debugCall(this.#children, call).then((problem) => {
          if (problem !== undefined) this.sendEvent(new OutputEvent(`${problem}\n`, 'important'));
        }),
    );
    session.onEnd.event(() => this.sendEvent(new TerminatedEvent()));
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
    const { rollout } = this.#need().thread(thread);
    this.#inspection?.forget();
    this.sendResponse(response);
    Promise.resolve()
      .then(() => move(rollout))
      .catch((error: unknown) => this.#report(error));
  }

  async #fork({ frame, rollout }: SentFrame, how: Pick<ForkWish, 'acceptIrreversible' | 'runs'>): Promise<ForkMade> {
    const cut = cutOf(frame, rollout);
    if (cut === undefined)
      throw new StudioError('conflict', 'Cannot fork the rollout from this frame.', {
        hint: 'Select the frame of a step or a tool.',
      });
    const fork = await this.#need().fork(rollout, cut, how);
    this.sendEvent(new Event('rolloutForked', { rollout: rollout.debuggee.rollout, cut, batch: fork.batch }));
    return fork;
  }

  /**
   * Responds to a request with the result of `make`, or its error. `request`: makes it cancellable; `then`: runs after
   * the response.
   */
  #answer<R extends DebugProtocol.Response>(
    response: R,
    make: (signal: AbortSignal) => R['body'] | Promise<R['body']>,
    { request, then }: { request?: DebugProtocol.Request | undefined; then?: () => void } = {},
  ): void {
    const own = new AbortController();
    if (request !== undefined) this.#requests.set(request.seq, own);
    Promise.resolve()
      .then(() => make(AbortSignal.any([own.signal, this.#over.signal])))
      .then(
        (body) => {
          response.body = body;
          this.sendResponse(response);
          then?.();
        },
        (error: unknown) => {
          this.sendErrorResponse(
            response,
            own.signal.aborted
              ? { id: 2, format: 'cancelled' }
              : {
                  id: 1,
                  format: '{_text}',
                  variables: { _text: errorText(error) },
                  showUser: !StudioError.is(error, 'gone'),
                },
          ); // an editor may still query the previous stop
        },
      )
      .finally(() => {
        if (request !== undefined) this.#requests.delete(request.seq);
      });
  }

  async #afterBreakpoints<T>(body: T): Promise<T> {
    await this.#need().sendBreakpoints();
    return body;
  }

  #gotoTargets({ source, line }: DebugProtocol.GotoTargetsArguments): DebugProtocol.GotoTarget[] {
    const trajectory = this.#trajectory(source);
    const seq = trajectory?.document.stopAt(line);
    if (trajectory !== undefined && seq !== undefined)
      return [{ id: seq, label: stopLabel(trajectory.debuggee.model, seq), line: trajectory.document.lineOf(seq) }];
    // In a tool's file, these are the calls of that tool.
    const rollout = this.#rollout(undefined);
    const found = rollout.places.at(path.normalize(source.path ?? ''), line);
    const calls =
      found?.kind === 'tools'
        ? rollout.debuggee.model.tools.filter((tool) => found.names.includes(tool.start.data.name))
        : [];
    return calls.slice(0, MAX_TARGETS).map((call) => ({
      id: call.seq,
      label: `step ${call.step}: ${stopLabel(rollout.debuggee.model, call.seq)}`,
      line: found?.line ?? line,
    }));
  }

  /** Reports a failure outside of a request. */
  #report(error: unknown): void {
    if (!StudioError.is(error, 'cancelled')) this.sendEvent(new OutputEvent(`${errorText(error)}\n`, 'important'));
  }

  #look(): Inspection {
    if (this.#inspection === undefined) throw new StudioError('usage', 'Nothing is being debugged.');
    return this.#inspection;
  }

  #need(): DebugSession {
    if (this.#session === undefined) throw new StudioError('usage', 'Nothing is being debugged.');
    return this.#session;
  }

  /** Returns the rollout for a command: the specified one, or else the only one. */
  #rollout(id: string | undefined): DebuggedRollout {
    const { rollouts } = this.#need();
    const rollout = id === undefined ? rollouts[0] : rollouts.find((candidate) => candidate.debuggee.rollout === id);
    if (rollout === undefined)
      throw new StudioError(
        'not_found',
        id === undefined ? 'No rollout is held.' : `Rollout ${id} is not part of this debug session.`,
      );
    return rollout;
  }

  #trajectory(source: DebugProtocol.Source): DebuggedRollout | undefined {
    const rollouts = this.#session?.rollouts ?? [];
    if (source.sourceReference !== undefined && source.sourceReference > 0)
      return this.#trajectories[source.sourceReference - 1];
    return rollouts.find(
      (rollout) => source.path !== undefined && trajectoryOf(rollout, this.#referenceOf).path === source.path,
    );
  }
}
