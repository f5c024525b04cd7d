/** Calls of side models inside tool calls. */
import type { TrajectoryModel } from '../model.ts';
import type { Context, EventOf } from '../schema.ts';
import type { ToolSpan } from './spans.ts';

/** Returns the tool call whose code asked a side model; undefined for other calls. */
export function askingCall(model: TrajectoryModel, start: EventOf<'model.start'>): ToolSpan | undefined {
  const outer = start.data.side === undefined || start.parent === undefined ? undefined : model.span(start.parent);
  return outer?.kind === 'tool' ? outer : undefined;
}

/** Moves those messages (by seq) out of `prompts` that a side model's call sees: others belong to calls beside it. */
export function takePrompt(model: TrajectoryModel, prompts: number[], context: Context): number[] {
  const seen: number[] = [];
  for (const seq of prompts.splice(0)) {
    const event = model.event(seq);
    const m = event?.kind === 'message' && !('unknown' in event) ? event.data.m : 0;
    if (context.some(([from, to]) => from <= m && m <= to)) seen.push(seq);
    else prompts.push(seq);
  }
  return seen;
}
