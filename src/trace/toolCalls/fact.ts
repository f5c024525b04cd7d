/** A compact record of a tool call, so that the calls of a whole batch fit into memory. */
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { ToolSpan } from '../model/spans.ts';
import type { TrajectoryModel } from '../model.ts';
import type { PredictedCall } from '../prediction/statistics.ts';
import type { Source, TraceError } from '../schema.ts';
import { isBlobRef, unescapeKeys } from '../values/keys.ts';

export interface CallFact {
  readonly rollout: string;
  /** seq of its start: `ROLLOUT@SEQ` is its reference. */
  readonly seq: number;
  readonly step: number;
  readonly tool: string;
  /** Time of its start. In a stream without times, it only reflects the order. */
  readonly at: number;
  /** Undefined while it runs, and if the source lacks it. */
  readonly ms: number | undefined;
  readonly open: boolean;
  readonly source: Source | undefined;
  readonly error: TraceError | undefined;
  /** The rule that changed the call. */
  readonly injected: string | undefined;
  /** Whether the tool was called, and not only the rule. */
  readonly made: boolean;
  /** What the scores of its predictions say. */
  readonly predictions: readonly Pick<PredictedCall, 'value' | 'parts'>[];
  /** The stored values: keys are escaped, and long values are references. Undefined if there are too many calls. */
  readonly values: CallValues | undefined;
}

interface CallValues {
  readonly arguments: Json;
  readonly result: Json | undefined;
}

/**
 * Returns the calls of a rollout in order of their start, without those that it shares with the parent of its fork, or
 * with the rollout that it scores again.
 */
export function callFacts(model: TrajectoryModel, rollout: string): CallFact[] {
  const { fork, rescores } = model.start?.data ?? {};
  const shared = (fork ?? rescores)?.seq ?? 0;
  return model.tools.filter(({ seq }) => seq > shared).map((span) => factOf(model, span, rollout));
}

function factOf(model: TrajectoryModel, span: ToolSpan, rollout: string): CallFact {
  const end = span.end?.data;
  return {
    rollout,
    seq: span.seq,
    step: span.step,
    tool: span.start.data.name,
    at: span.start.at,
    ms: end?.ms,
    open: end === undefined,
    source: end?.source,
    error: end?.error,
    injected: end?.injected,
    made: end?.made !== false,
    predictions: model
      .scoresOf(span.seq)
      .flatMap(({ data }) => (data.prediction === undefined ? [] : [{ value: data.value, parts: data.parts ?? {} }])),
    values: { arguments: span.start.data.raw ?? model.argumentsOf(span).value, result: model.resultOf(span)?.value },
  };
}

export function withoutValues(fact: CallFact): CallFact {
  return fact.values === undefined ? fact : { ...fact, values: undefined };
}

/** Compares calls: newest first; those with the same time, in reverse order of their trajectory. */
export function newestFirst(a: CallFact, b: CallFact): number {
  return b.at - a.at || (a.rollout === b.rollout ? b.seq - a.seq : a.rollout < b.rollout ? 1 : -1);
}

/**
 * Returns the distinct arguments of calls as they were made, in the order of the calls. Leaves out invalid arguments,
 * and those with long values, of which the record has only references.
 */
export function distinctArguments(calls: readonly CallFact[], max: number): JsonObject[] {
  const seen = new Map<string, JsonObject>();
  for (const { values, error } of calls) {
    if (values === undefined || error?.class === 'invalid_arguments' || hasBlobRef(values.arguments)) continue;
    const args = unescapeKeys(values.arguments);
    const key = canonicalJson(args);
    if (isJsonObject(args) && !seen.has(key)) seen.set(key, args);
    if (seen.size === max) break;
  }
  return [...seen.values()];
}

function hasBlobRef(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return isBlobRef(value) || Object.values(value).some(hasBlobRef);
}
