/** Where a frame of the call stack is written, as the client opens it. */

import path from 'node:path';
import type { DebugProtocol } from '@vscode/debugprotocol';
import type { DebuggedRollout } from '../debuggedRollout.ts';
import type { Frame } from '../frames.ts';
import type { SourcePlace } from './toolPlaces.ts';

/** The source reference of a trajectory's text; undefined if the client shows trajectories itself, by their URIs. */
export type ReferenceOf = (rollout: DebuggedRollout) => number | undefined;

/** The scheme of trajectories as documents. */
export const TRAJECTORY_SCHEME = 'rollout';

/** `rollout:/<id>/<task> attempt n.trajectory`: its last part names the editor's tab. */
function trajectoryUri({ debuggee, title }: DebuggedRollout): string {
  return `${TRAJECTORY_SCHEME}:/${debuggee.rollout}/${encodeURIComponent(title.replaceAll('/', '∕'))}.trajectory`;
}

export function trajectoryOf(rollout: DebuggedRollout, referenceOf: ReferenceOf): DebugProtocol.Source {
  const sourceReference = referenceOf(rollout);
  return {
    name: `${rollout.title}.trajectory`,
    path: trajectoryUri(rollout),
    ...(sourceReference === undefined ? {} : { sourceReference }),
  };
}

/**
 * A tool's frame is in its code, else at the agent's entry that brought it; an agent's in its file; all else in the
 * trajectory.
 */
export function frameSource(
  frame: Frame,
  rollout: DebuggedRollout,
  referenceOf: ReferenceOf,
): Pick<DebugProtocol.StackFrame, 'source' | 'line' | 'column'> {
  const place = placeOf(frame, rollout);
  if (place !== undefined)
    return { source: { name: path.basename(place.path), path: place.path }, line: place.line, column: place.column };
  return {
    source: trajectoryOf(rollout, referenceOf),
    line: frame.seq === 0 ? 1 : rollout.document.lineOf(frame.seq),
    column: 1,
  };
}

function placeOf(frame: Frame, { places }: DebuggedRollout): SourcePlace | undefined {
  switch (frame.kind) {
    case 'tool': {
      const { name } = frame.span.start.data;
      return places.ofTool(name) ?? places.ofEntry(frame.span.agent, name);
    }
    case 'agent':
      return places.ofEntry(frame.path, frame.tool);
    case 'step':
    case 'message':
    case 'rollout':
      return undefined;
  }
}
