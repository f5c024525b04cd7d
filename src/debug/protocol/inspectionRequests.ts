/** Handles requests about the current stop: frames, variables, expressions, and the text of trajectories. */
import { OutputEvent } from '@vscode/debugadapter';
import type { DebugProtocol } from '@vscode/debugprotocol';
import { trajectoryOf } from '../sources/frameSource.ts';
import type { Handlers, RequestContext } from './handlers.ts';

export function inspectionHandlers({ session, inspection, sources, send }: RequestContext): Handlers {
  return {
    stackTrace: (args: DebugProtocol.StackTraceArguments) => inspection().stackTrace(args),
    scopes: ({ frameId }: DebugProtocol.ScopesArguments) => inspection().scopes(frameId),
    variables: (args: DebugProtocol.VariablesArguments, signal) => inspection().variables(args, signal),
    setVariable: async (args: DebugProtocol.SetVariableArguments) => {
      const { body, waits } = await inspection().setVariable(args);
      if (waits)
        send(
          new OutputEvent(
            'The recording is unchanged. Restart Frame forks the rollout from here with this edit.\n',
            'console',
          ),
        );
      return body;
    },
    evaluate: (args: DebugProtocol.EvaluateArguments) => inspection().evaluate(args),
    completions: (args: DebugProtocol.CompletionsArguments) => inspection().completions(args),
    exceptionInfo: ({ threadId }: DebugProtocol.ExceptionInfoArguments) => inspection().exceptionInfo(threadId),
    stepInTargets: ({ frameId }: DebugProtocol.StepInTargetsArguments) => inspection().stepInTargets(frameId),
    source: ({ sourceReference }: DebugProtocol.SourceArguments): DebugProtocol.SourceResponse['body'] => ({
      content: sources.textOf(sourceReference),
      mimeType: 'text/plain',
    }),
    loadedSources: (): DebugProtocol.LoadedSourcesResponse['body'] => ({
      sources: session().rollouts.map((rollout) => trajectoryOf(rollout, sources.referenceOf)),
    }),
  };
}
