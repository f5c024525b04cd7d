/** Finds the places that a line of a trajectory or of a tool's file can move the cursor to. */
import path from 'node:path';
import type { DebugProtocol } from '@vscode/debugprotocol';
import type { DebuggedRollout } from '../debuggedRollout.ts';
import { stopLabel } from '../frames.ts';

const MAX_TARGETS = 100;

/** Returns the stop on a line of a trajectory. */
export function trajectoryTarget(
  { document, debuggee }: DebuggedRollout,
  line: number,
): DebugProtocol.GotoTarget | undefined {
  const seq = document.stopAt(line);
  return seq === undefined ? undefined : { id: seq, label: stopLabel(debuggee.model, seq), line: document.lineOf(seq) };
}

/** Returns the calls of the tools that a line of a file defines. */
export function toolTargets(
  { places, debuggee: { model } }: DebuggedRollout,
  file: string | undefined,
  line: number,
): DebugProtocol.GotoTarget[] {
  const definition = places.at(path.normalize(file ?? ''), line);
  if (definition?.kind !== 'tools') return [];
  return model.tools
    .filter((tool) => definition.names.includes(tool.start.data.name))
    .slice(0, MAX_TARGETS)
    .map((call) => ({
      id: call.seq,
      label: `step ${call.step}: ${stopLabel(model, call.seq)}`,
      line: definition.line,
    }));
}
