/** Handles requests about the current stop: frames, variables, expressions, and the text of trajectories. */
import { OutputEvent } from '@vscode/debugadapter';
import type { DebugProtocol } from '@vscode/debugprotocol';
import { trajectoryOf } from '../sources/frameSource.ts';
import { type Handlers, handler, type RequestContext } from './handlers.ts';

export function inspectionHandlers({ session, inspection, sources, send }: RequestContext): Handlers {
  return {
    stackTrace: handler<DebugProtocol.StackTraceRequest, DebugProtocol.StackTraceResponse>((args) =>
      inspection().stackTrace(args),
    ),
    scopes: handler<DebugProtocol.ScopesRequest, DebugProtocol.ScopesResponse>(({ frameId }) =>
      inspection().scopes(frameId),
    ),
    variables: handler<DebugProtocol.VariablesRequest, DebugProtocol.VariablesResponse>((args, signal) =>
      inspection().variables(args, signal),
    ),
    setVariable: handler<DebugProtocol.SetVariableRequest, DebugProtocol.SetVariableResponse>(async (args) => {
      const { body, waits } = await inspection().setVariable(args);
      if (waits)
        send(
          new OutputEvent(
            'The recording is unchanged. Restart Frame forks the rollout from here with this edit.\n',
            'console',
          ),
        );
      return body;
    }),
    evaluate: handler<DebugProtocol.EvaluateRequest, DebugProtocol.EvaluateResponse>((args) =>
      inspection().evaluate(args),
    ),
    completions: handler<DebugProtocol.CompletionsRequest, DebugProtocol.CompletionsResponse>((args) =>
      inspection().completions(args),
    ),
    exceptionInfo: handler<DebugProtocol.ExceptionInfoRequest, DebugProtocol.ExceptionInfoResponse>(({ threadId }) =>
      inspection().exceptionInfo(threadId),
    ),
    stepInTargets: handler<DebugProtocol.StepInTargetsRequest, DebugProtocol.StepInTargetsResponse>(({ frameId }) =>
      inspection().stepInTargets(frameId),
    ),
    source: handler<DebugProtocol.SourceRequest, DebugProtocol.SourceResponse>(({ sourceReference }) => ({
      content: sources.textOf(sourceReference),
      mimeType: 'text/plain',
    })),
    loadedSources: handler<DebugProtocol.LoadedSourcesRequest, DebugProtocol.LoadedSourcesResponse>(() => ({
      sources: session().rollouts.map((rollout) => trajectoryOf(rollout, sources.referenceOf)),
    })),
  };
}
