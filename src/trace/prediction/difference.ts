/**
 * Compares what a world predicted for a tool call with the response that the agent got, by structure. Defined here
 * once, for the scores of calls, reports, and pages.
 *
 * - status: whether the call succeeded, and the class of its error otherwise.
 * - keys: members and items that both have, among those that any of them has. 0 if one is JSON and the other is text.
 * - deterministic, existing, runtime: the values of a class that agree (see `seen.ts`). Those of a text are its words
 *   that are deterministic or made at run time, and its lines.
 *
 * Accuracy is the mean of keys and deterministic values, or of the other values if there are neither, times the status.
 */
import { isTooDeep, type Json } from '../../common/json.ts';
import type { PredictionPart } from '../schema/prediction.ts';
import type { ErrorClass } from '../schema.ts';
import { signalsError } from '../toolCalls/signalsError.ts';
import { isBlobRef } from '../values/keys.ts';
import { Comparison, type DifferingPlace } from './comparison.ts';
import { jsonIn, type SeenValues } from './seen.ts';
import { compareTexts } from './textComparison.ts';
import { compareValues } from './valueComparison.ts';

export type { DifferingPlace, PlaceVerdict } from './comparison.ts';
export { SeenValues, type ValueClass } from './seen.ts';

/** Shares from 0 to 1 of what agrees; a part that has nothing to compare is absent. */
export type PredictionParts = { readonly [P in PredictionPart]?: number };

export interface PredictionDifference {
  readonly parts: PredictionParts;
  /** Share of all values that are equal, whatever their class; undefined without values. */
  readonly equal: number | undefined;
  /** From 0 to 1. */
  readonly accuracy: number;
  /** What differs, in order of the real response. */
  readonly places: readonly DifferingPlace[];
  /** Number of further places. */
  readonly more: number;
}

/** A response, and the class of its error if it is known to be one. */
export interface ComparedAnswer {
  readonly response: Json;
  readonly error?: ErrorClass | undefined;
}

/**
 * Returns the difference. `args`: those of the call. `seen`: the earlier calls. The time that it takes grows with the
 * size of the responses.
 */
export function predictionDifference(
  predicted: ComparedAnswer,
  real: ComparedAnswer,
  args: Json,
  seen: SeenValues,
): PredictionDifference {
  seen.addArguments(args);
  const comparison = new Comparison(seen);
  const statuses = [statusOf(predicted), statusOf(real)] as const;
  const status = statuses[0] === statuses[1] ? 1 : statuses.includes('ok') ? 0 : 0.5;
  if (status < 1) comparison.note({ path: '', class: 'status', predicted: statuses[0], real: statuses[1] }, 'differs');
  const [one, other] = [contentOf(predicted.response), contentOf(real.response)];
  if (typeof one === 'string' && typeof other === 'string') compareTexts(comparison, one, other);
  else if (typeof one === 'string' || typeof other === 'string') {
    const names = [typeof one === 'string' ? 'text' : 'JSON', typeof other === 'string' ? 'text' : 'JSON'] as const;
    comparison.note({ path: '', class: 'format', predicted: names[0], real: names[1] }, 'differs');
    comparison.differingFormats();
    compareTexts(comparison, textOf(one), textOf(other));
  } else compareValues(comparison, one, other);
  const parts = { status, ...comparison.shares() };
  return {
    parts,
    equal: comparison.equal(),
    accuracy: accuracyOf(parts),
    places: comparison.places,
    more: comparison.more,
  };
}

function accuracyOf({ status = 1, keys, deterministic, existing, runtime }: PredictionParts): number {
  const exact = [keys, deterministic].filter((share) => share !== undefined);
  const others = [existing, runtime].filter((share) => share !== undefined);
  const shares = exact.length > 0 ? exact : others;
  return status * (shares.length === 0 ? 1 : shares.reduce((sum, share) => sum + share, 0) / shares.length);
}

/**
 * Returns `ok` or the class of the error. A world that is a model can only write that a call failed, so its text
 * decides, as does that of tools that return their errors.
 */
export function statusOf({ response, error }: ComparedAnswer): 'ok' | ErrorClass {
  if (error !== undefined) return error;
  const value = jsonIn(response);
  if (typeof value === 'string') {
    const named = /^\s*Error \(([a-z_]+)\)/.exec(value)?.[1];
    if (named === 'invalid_arguments' || named === 'unknown_tool' || named === 'timeout') return named;
  }
  return signalsError(value) ? 'tool_error' : 'ok';
}

/** Returns the value of a response, or its text. */
function contentOf(response: Json): Json {
  if (isBlobRef(response)) return response.head; // a caller that has the whole value passes it
  const value = jsonIn(response);
  return value !== response && isTooDeep(value) ? response : value;
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 1);
}
