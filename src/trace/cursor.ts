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

/** Returns the first call or message inside. */
export function into(model: TrajectoryModel, seq: number): number | undefined {
  const span = model.span(seq);
  const children = model.children(seq);
  // Of a model call what it asked for: its own words are the call itself. In some streams the calls stand beside it.
  if (span?.kind === 'model')
    return children.find((child) => model.span(child) !== undefined) ?? model.step(span.step)?.tools[0]?.seq;
  // What a tool gave is the call itself as well; only what ran inside is inside.
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

/** The model call of the step after the one that `seq` is in; `distance` −1: before. */
export function step(model: TrajectoryModel, seq: number, distance: 1 | -1): number | undefined {
  const at = model.stepOf(seq)?.index ?? 0;
  return model.step(at + distance)?.model?.seq;
}

/**
 * What failed next after `seq`; `distance` −1: before. What infrastructure broke off and the rollout went on from is no
 * failure of it.
 */
export function failure(model: TrajectoryModel, seq: number, distance: 1 | -1): number | undefined {
  const places = failedPlaces(model);
  const index = countUpTo(places, distance === 1 ? seq : seq - 1);
  return distance === 1 ? places[index] : places[index - 1];
}

/**
 * Places of all that failed, ascending, by model: they are only added to. What may yet turn out to have ended the
 * rollout waits.
 */
const failedOf = new WeakMap<TrajectoryModel, { taken: number; readonly places: number[] }>();

function failedPlaces(model: TrajectoryModel): readonly number[] {
  let entry = failedOf.get(model);
  if (entry === undefined) failedOf.set(model, (entry = { taken: 0, places: [] }));
  const { places } = entry;
  for (; entry.taken < model.errors.length; entry.taken++) {
    const failed = model.errors[entry.taken];
    if (failed === undefined) break;
    if (isInterruption(model, failed)) {
      if (model.end === undefined && failed.seq > model.newestStart) break;
      continue;
    }
    const place = positionOf(model, failed.seq) ?? failed.seq;
    // A call may fail after one that began later.
    places.splice(countUpTo(places, place), 0, place);
  }
  return places;
}

/** The call of the same tool after this one; `distance` −1: before. Where no call is selected, the next call at all. */
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

/** Returns whether the arguments are the same as in the previous call. */
export function isRepeat(model: TrajectoryModel, span: ToolSpan): boolean {
  return previousCall(model, span) !== undefined && changedArguments(model, span).length === 0;
}

function recordOf({ start: { data } }: ToolSpan): Readonly<Record<string, Json>> {
  return typeof data.arguments === 'object' && data.arguments !== null && !Array.isArray(data.arguments)
    ? data.arguments
    : { value: data.arguments };
}
