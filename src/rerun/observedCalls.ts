/** The calls of a rollout as its agents saw them, for worlds whose state that is. */
import { isJsonObject, type Json } from '../common/json.ts';
import type { Observed, ToolCall, WorldSession } from '../rollout/ports.ts';
import { seenResponse } from '../trace/model/seenResponse.ts';
import type { ToolSpan } from '../trace/model/spans.ts';
import { callsBefore } from '../trace/prediction/ofCall.ts';
import { howObserved } from '../trace/undone.ts';
import type { RolloutRecord } from './recordedCall.ts';

export interface ObservedCall {
  readonly call: ToolCall;
  readonly response: Json;
  readonly how: Observed;
}

/** Returns the calls that ended before one, or with `undefined` all of a rollout, in the order of their ends. */
export async function observedBefore(
  { model, argumentsOf, whole }: Pick<RolloutRecord, 'model' | 'argumentsOf' | 'whole'>,
  span: ToolSpan | undefined,
): Promise<ObservedCall[]> {
  const observed: ObservedCall[] = [];
  for (const one of callsBefore(model, span)) {
    const seen = seenResponse(model, one);
    if (seen === undefined) continue; // a recording without this result
    const args = await argumentsOf(one);
    const { call: id, name } = one.start.data;
    const end = one.end?.data;
    const origin = end?.m === undefined ? undefined : model.currentMessage(end.m)?.event.data.origin;
    const { real, ...how } = howObserved(end, origin);
    observed.push({
      call: { id, name, arguments: isJsonObject(args) ? args : {} },
      response: await whole(seen),
      how: { ...how, ...(real === undefined ? {} : { real: await whole(real) }) },
    });
  }
  return observed;
}

/** Tells a session the calls of its tools. Returns how many. */
export function tellObserved(session: WorldSession, calls: readonly ObservedCall[]): number {
  const known = new Set(session.specs.map(({ name }) => name));
  const own = calls.filter(({ call }) => known.has(call.name));
  for (const { call, response, how } of own) session.observed?.(call, response, how);
  return own.length;
}
