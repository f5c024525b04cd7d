/**
 * Moves of a cursor through a trajectory, for the page's keys and the debugger's steps. A position is the seq of a
 * message or a start; every move returns the new position, or undefined if there is none.
 */

import { isSameJson, type Json } from '../common/json.ts';
import { nextCall, previousCall } from './calls.ts';
import { countUpTo } from './model/search.ts';
import type { ToolSpan } from './model/spans.ts';
import type { TrajectoryModel } from './model.ts';
import { isInterruption } from './trouble.ts';

/** Returns the position of an event: itself, its span's start, or the newest position before it. */
export function positionOf(model: TrajectoryModel, seq: number): number | undefined {
  const event = model.event(seq);
  if (event === undefined) return undefined;
  if (model.parentOf(seq) !== undefined) return seq;
  if (event.span !== undefined && model.span(event.span) !== undefined) return event.span;
  for (let at = seq; at > 0; at--) if (model.parentOf(at) !== undefined) return at;
  return undefined;
}

/** Returns the first call or message inside a span. */
export function into(model: TrajectoryModel, seq: number): number | undefined {
  const span = model.span(seq);
  const children = model.children(seq);
  // For a model call, its first tool call: its message is part of the call. In some streams, tool calls are siblings.
  if (span?.kind === 'model')
    return children.find((child) => model.span(child) !== undefined) ?? model.step(span.step)?.tools[0]?.seq;
  // The result of a tool is part of the call too; only nested spans count.
  if (span?.kind === 'tool') return children.find((child) => model.span(child) !== undefined);
  return children[0];
}

/** Returns the enclosing position: the calling tool, the agent, or the model call of its step. */
export function out(model: TrajectoryModel, seq: number): number | undefined {
  const parent = model.parentOf(seq);
  if (parent !== undefined && parent !== 0) return parent;
  const step = model.span(seq)?.kind === 'tool' ? model.stepOf(seq)?.model?.seq : undefined;
  return step === seq ? undefined : step;
}

/** Returns the model call of the next step; `distance` −1: of the previous one. */
export function step(model: TrajectoryModel, seq: number, distance: 1 | -1): number | undefined {
  const at = model.stepOf(seq)?.index ?? 0;
  return model.step(at + distance)?.model?.seq;
}

/**
 * Returns the next failure after `seq`; `distance` −1: the previous one. Interruptions by infrastructure that the
 * rollout survived do not count.
 */
export function failure(model: TrajectoryModel, seq: number, distance: 1 | -1): number | undefined {
  const places = failurePlaces(model);
  const index = countUpTo(places, distance === 1 ? seq : seq - 1);
  return distance === 1 ? places[index] : places[index - 1];
}

/**
 * Positions of all failures by model, in ascending order. Append-only: an interruption that may still turn out to have
 * ended the rollout is not examined until that is certain.
 */
const failureIndexes = new WeakMap<TrajectoryModel, { examined: number; readonly places: number[] }>();

/** Returns the positions of all failures, ascending; always the same list for a model. */
export function failurePlaces(model: TrajectoryModel): readonly number[] {
  let index = failureIndexes.get(model);
  if (index === undefined) failureIndexes.set(model, (index = { examined: 0, places: [] }));
  const { places } = index;
  for (; index.examined < model.errors.length; index.examined++) {
    const error = model.errors[index.examined];
    if (error === undefined) break;
    if (isInterruption(model, error)) {
      if (model.end === undefined && error.seq > model.newestStart) break;
      continue;
    }
    const place = positionOf(model, error.seq) ?? error.seq;
    // A call may fail after a call that started later.
    places.splice(countUpTo(places, place), 0, place);
  }
  return places;
}

/** Returns the next call of the same tool; `distance` −1: the previous one. Without a selected call, of any tool. */
export function sameTool(model: TrajectoryModel, seq: number, distance: 1 | -1): number | undefined {
  const span = model.span(seq);
  if (span?.kind === 'tool') return (distance === 1 ? nextCall(model, span) : previousCall(model, span))?.seq;
  return distance === 1
    ? model.tools.find((tool) => tool.seq > seq)?.seq
    : model.tools.findLast((tool) => tool.seq < seq)?.seq;
}

/** Returns the next call with other arguments than the previous call of its tool, or that changed the world. */
export function difference(model: TrajectoryModel, seq: number): number | undefined {
  return model.tools.find(
    (tool) => tool.seq > seq && (model.diffsOf(tool.seq).length > 0 || changedArguments(model, tool).length > 0),
  )?.seq;
}

/** Returns the names of arguments that differ from the previous call of the same tool; empty if there is none. */
export function changedArguments(model: TrajectoryModel, span: ToolSpan): string[] {
  const before = previousCall(model, span);
  if (before === undefined) return [];
  const now = recordOf(span);
  const then = recordOf(before);
  return [...new Set([...Object.keys(now), ...Object.keys(then)])].filter(
    (name) => !isSameJson(now[name] ?? null, then[name] ?? null),
  );
}

/** Returns whether the arguments are the same as in the previous call of the same tool. */
export function isRepeat(model: TrajectoryModel, span: ToolSpan): boolean {
  return previousCall(model, span) !== undefined && changedArguments(model, span).length === 0;
}

function recordOf({ start: { data } }: ToolSpan): Readonly<Record<string, Json>> {
  return typeof data.arguments === 'object' && data.arguments !== null && !Array.isArray(data.arguments)
    ? data.arguments
    : { value: data.arguments };
}
