/** Handles the protocol's breakpoint requests for the rollouts of a session. */

import path from 'node:path';
import type { DebugProtocol } from '@vscode/debugprotocol';
import type { DebuggedRollout } from '../debuggedRollout.ts';
import type { DebugSession } from '../session.ts';
import type { LineMeaning } from '../sources/toolPlaces.ts';
import type { Node } from '../variables/node.ts';

/** Sets breakpoints on lines of a file, or of the text of `trajectory`. */
export function setLines(
  session: DebugSession,
  trajectory: DebuggedRollout | undefined,
  { source, breakpoints = [] }: DebugProtocol.SetBreakpointsArguments,
): DebugProtocol.Breakpoint[] {
  if (trajectory === undefined) {
    const file = path.normalize(source.path ?? '');
    return session.breakpoints.setLines(file, breakpoints, (line) => meaningOf(session, file, line));
  }
  const { document, debuggee } = trajectory;
  return session.breakpoints.setTrajectoryLines(debuggee.rollout, breakpoints, (line) => {
    const seq = document.stopAt(line);
    return seq === undefined ? undefined : { seq, line: document.lineOf(seq) };
  });
}

export function setFunctions(
  session: DebugSession,
  { breakpoints }: DebugProtocol.SetFunctionBreakpointsArguments,
): DebugProtocol.Breakpoint[] {
  const tools = session.rollouts.flatMap(({ places, debuggee }) => [
    ...places.names,
    ...debuggee.model.tools.map((tool) => tool.start.data.name),
  ]);
  return session.breakpoints.setFunctions(breakpoints, new Set(tools));
}

export function setExceptions(
  session: DebugSession,
  { filters, filterOptions = [] }: DebugProtocol.SetExceptionBreakpointsArguments,
): DebugProtocol.Breakpoint[] {
  return session.breakpoints.setExceptions([
    ...filters.map((filter) => ({ filter })),
    ...filterOptions.map(({ filterId, condition }) => ({ filter: filterId, condition })),
  ]);
}

/** Returns the lines of a range that can have a breakpoint. */
export function locations(
  session: DebugSession,
  trajectory: DebuggedRollout | undefined,
  { source, line: first, endLine: last = first }: DebugProtocol.BreakpointLocationsArguments,
): DebugProtocol.BreakpointLocation[] {
  const file = path.normalize(source.path ?? '');
  const lines = new Set<number>();
  for (let line = first; line <= last; line++) {
    const seq = trajectory?.document.stopAt(line);
    const found =
      trajectory === undefined
        ? meaningOf(session, file, line)?.line
        : seq === undefined
          ? undefined
          : trajectory.document.lineOf(seq);
    if (found !== undefined && found >= first && found <= last) lines.add(found);
  }
  return [...lines].map((line) => ({ line }));
}

/** Returns what a data breakpoint on a variable would watch. */
export function dataInfo(node: Node | undefined): DebugProtocol.DataBreakpointInfoResponse['body'] {
  if (node?.data === undefined)
    return {
      dataId: null,
      description:
        'Only rows, tables, and files of the world can be watched. Find them in the scopes World and World Changes.',
    };
  return { dataId: node.data, description: `changes of ${node.name}`, accessTypes: ['write'], canPersist: true };
}

function meaningOf(session: DebugSession, file: string, line: number): LineMeaning | undefined {
  for (const { places } of session.rollouts) {
    const found = places.at(file, line);
    if (found !== undefined) return found;
  }
  return undefined;
}
