/** The call stack at a place: tool ← step ← agent ← … ← rollout, innermost first. */

import { joinedLines } from '../common/text.ts';
import type { MessageEntry } from '../trace/model/messages.ts';
import type { AgentSpan, ModelSpan, ToolSpan } from '../trace/model/spans.ts';
import type { TrajectoryModel } from '../trace/model.ts';
import { type Place, Stops } from '../trace/stops.ts';
import { sideLabel } from '../trace/text/labels.ts';
import { inline, partsText } from '../trace/text/values.ts';
import { unescapeKeys } from '../trace/values/keys.ts';

export type Frame =
  | { readonly kind: 'tool'; readonly seq: number; readonly span: ToolSpan }
  | {
      readonly kind: 'step';
      readonly seq: number;
      readonly span: ModelSpan /** The call that led to it. */;
      readonly tool: string | undefined;
    }
  | { readonly kind: 'message'; readonly seq: number; readonly entry: MessageEntry }
  | {
      readonly kind: 'agent';
      readonly seq: number;
      readonly path: string;
      readonly span: AgentSpan | undefined;
      readonly tool: string | undefined;
    }
  | { readonly kind: 'rollout'; readonly seq: number };

/**
 * Returns the frames at a place, innermost first, the rollout last. `seq` of a frame is its stop; 0 for the rollout.
 */
export function framesAt(model: TrajectoryModel, place: Place): Frame[] {
  const frames: Frame[] = [];
  let agent: string | undefined;
  let tool: string | undefined;
  for (const seq of Stops.of(model).chain(place.seq)) {
    const span = model.span(seq);
    const event = model.event(seq);
    const path = event?.agent ?? '';
    // Without a recorded start, the agent started with the rollout: its frame is below its outermost stop.
    if (agent !== undefined && path !== agent && frames.at(-1)?.kind !== 'agent' && isAgent(model, agent))
      frames.push({
        kind: 'agent',
        seq: model.agent(agent)?.span?.seq ?? seq,
        path: agent,
        span: model.agent(agent)?.span,
        tool,
      });
    agent = path;
    if (span?.kind === 'tool') {
      frames.push({ kind: 'tool', seq, span });
      tool = span.start.data.name;
    } else if (span?.kind === 'model') {
      frames.push({ kind: 'step', seq, span, tool });
    } else if (span?.kind === 'agent') {
      frames.push({ kind: 'agent', seq, path, span, tool });
    } else if (event !== undefined && !('unknown' in event) && event.kind === 'message') {
      const entry = model.currentMessage(event.data.m, place.at);
      if (entry !== undefined) frames.push({ kind: 'message', seq, entry });
    }
  }
  if (agent !== undefined && agent !== '' && frames.at(-1)?.kind !== 'agent' && isAgent(model, agent))
    frames.push({ kind: 'agent', seq: place.seq, path: agent, span: undefined, tool });
  frames.push({ kind: 'rollout', seq: 0 });
  return frames;
}

/** A side model has no frame of its own: its call is inside of a step or a tool call. */
function isAgent(model: TrajectoryModel, path: string): boolean {
  return model.agent(path)?.side === undefined;
}

/** Returns what a model call is called: `step 3`, or `Judge`. */
function callName({ start }: ModelSpan): string {
  return start.data.side === undefined ? `step ${start.data.step}` : sideLabel(start.data.side);
}

/** Returns the name of a frame in the call stack. */
export function frameName(frame: Frame, title: string): string {
  switch (frame.kind) {
    case 'tool':
      return (
        frame.span.start.data.name +
        (frame.span.end?.data.error === undefined ? '' : ` ✗ ${frame.span.end.data.error.class}`)
      );
    case 'step':
      return (
        callName(frame.span) + (frame.span.start.data.model === undefined ? '' : ` · ${frame.span.start.data.model}`)
      );
    case 'message':
      return `${frame.entry.event.data.role} message`;
    case 'agent':
      return `agent ${frame.path}`;
    case 'rollout':
      return title;
  }
}

/** Returns a short description of a stop, for lists of targets. */
export function stopLabel(model: TrajectoryModel, seq: number): string {
  const span = model.span(seq);
  const event = model.event(seq);
  if (span?.kind === 'tool')
    return short(`${span.start.data.name} ${inline(unescapeKeys(model.argumentsOf(span).value))}`);
  if (span?.kind === 'model') return callName(span);
  if (span?.kind === 'agent') return `agent ${span.agent}`;
  return event !== undefined && !('unknown' in event) && event.kind === 'message'
    ? short(`${event.data.role}: ${partsText(event.data.parts)}`)
    : `event ${seq}`;
}

function short(text: string): string {
  const line = joinedLines(text, ' ');
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
