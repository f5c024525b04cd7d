/** Handles requests about breakpoints. */
import type { DebugProtocol } from '@vscode/debugprotocol';
import { dataInfo, locations, setExceptions, setFunctions, setLines } from '../breakpoints/setBreakpoints.ts';
import type { DebuggedRollout } from '../debuggedRollout.ts';
import type { Handlers, RequestContext } from './handlers.ts';

interface SetBody {
  readonly breakpoints: DebugProtocol.Breakpoint[];
}

export function breakpointHandlers({ session, inspection, sources }: RequestContext): Handlers {
  const rolloutOf = (source: DebugProtocol.Source): DebuggedRollout | undefined =>
    sources.rolloutOf(source, session().rollouts);
  const send = async (breakpoints: DebugProtocol.Breakpoint[]): Promise<SetBody> => {
    await session().sendBreakpoints();
    return { breakpoints };
  };
  return {
    setBreakpoints: (args: DebugProtocol.SetBreakpointsArguments) =>
      send(setLines(session(), rolloutOf(args.source), args)),
    setFunctionBreakpoints: (args: DebugProtocol.SetFunctionBreakpointsArguments) =>
      send(setFunctions(session(), args)),
    setExceptionBreakpoints: (args: DebugProtocol.SetExceptionBreakpointsArguments) =>
      send(setExceptions(session(), args)),
    setDataBreakpoints: ({ breakpoints }: DebugProtocol.SetDataBreakpointsArguments) =>
      send(session().breakpoints.setData(breakpoints)),
    dataBreakpointInfo: ({ variablesReference, name }: DebugProtocol.DataBreakpointInfoArguments) =>
      dataInfo(variablesReference === undefined ? undefined : inspection().find(variablesReference, name)),
    breakpointLocations: (
      args: DebugProtocol.BreakpointLocationsArguments,
    ): DebugProtocol.BreakpointLocationsResponse['body'] => ({
      breakpoints: locations(session(), rolloutOf(args.source), args),
    }),
  };
}
