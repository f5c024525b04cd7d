/** Handles requests about breakpoints. */
import type { DebugProtocol } from '@vscode/debugprotocol';
import { dataInfo, locations, setExceptions, setFunctions, setLines } from '../breakpoints/setBreakpoints.ts';
import { type Handlers, handler, type RequestContext } from './handlers.ts';

export function breakpointHandlers({ session, inspection, sources }: RequestContext): Handlers {
  const trajectoryOf = (source: DebugProtocol.Source) => sources.rolloutOf(source, session().rollouts);
  const send = async (breakpoints: DebugProtocol.Breakpoint[]) => {
    await session().sendBreakpoints();
    return { breakpoints };
  };
  return {
    setBreakpoints: handler<DebugProtocol.SetBreakpointsRequest, DebugProtocol.SetBreakpointsResponse>((args) =>
      send(setLines(session(), trajectoryOf(args.source), args)),
    ),
    setFunctionBreakpoints: handler<
      DebugProtocol.SetFunctionBreakpointsRequest,
      DebugProtocol.SetFunctionBreakpointsResponse
    >((args) => send(setFunctions(session(), args))),
    setExceptionBreakpoints: handler<
      DebugProtocol.SetExceptionBreakpointsRequest,
      DebugProtocol.SetExceptionBreakpointsResponse
    >((args) => send(setExceptions(session(), args))),
    setDataBreakpoints: handler<DebugProtocol.SetDataBreakpointsRequest, DebugProtocol.SetDataBreakpointsResponse>(
      ({ breakpoints }) => send(session().breakpoints.setData(breakpoints)),
    ),
    dataBreakpointInfo: handler<DebugProtocol.DataBreakpointInfoRequest, DebugProtocol.DataBreakpointInfoResponse>(
      ({ variablesReference, name }) =>
        dataInfo(variablesReference === undefined ? undefined : inspection().find(variablesReference, name)),
    ),
    breakpointLocations: handler<DebugProtocol.BreakpointLocationsRequest, DebugProtocol.BreakpointLocationsResponse>(
      (args) => {
        if (args === undefined) return { breakpoints: [] };
        return { breakpoints: locations(session(), trajectoryOf(args.source), args) };
      },
    ),
  };
}
