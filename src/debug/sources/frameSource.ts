/** Finds the source location of a frame of the call stack. */

import path from 'node:path';
import type { DebugProtocol } from '@vscode/debugprotocol';
import type { DebuggedRollout } from '../debuggedRollout.ts';
import type { Frame } from '../frames.ts';
import type { SourcePlace } from './toolPlaces.ts';

/** The source reference of a trajectory's text; undefined if the client shows trajectories itself, by their URIs. */
export type ReferenceOf = (rollout: DebuggedRollout) => number | undefined;

/** The URI scheme of trajectories as documents. */
export const TRAJECTORY_SCHEME = 'rollout';

/** Returns `rollout:/<id>/<task> attempt n.trajectory`. The last part is the title of the editor's tab. */
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
 * Returns the location of a frame: for a tool, in its code, or else its entry in the agent's file; for an agent, in its
 * file; otherwise in the trajectory.
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
