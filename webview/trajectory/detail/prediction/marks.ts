/** Marks the places of a result and of a prediction where they differ. */
import { isJsonObject, isSameJson, type Json } from '../../../../src/common/json.ts';
import type { DifferingPlace, PredictionDifference } from '../../../../src/trace/prediction/difference.ts';
import { jsonIn } from '../../../../src/trace/prediction/seen.ts';
import { CLASS_LABELS, PLACE_SIGNS } from '../../../../src/trace/prediction/text.ts';
import { valueText } from '../../../../src/trace/text/values.ts';
import type { ValueMark, ValueMarks } from '../../../values/valueMarks.tsx';

export interface BothMarks {
  readonly real: ValueMarks;
  readonly predicted: ValueMarks;
}

/** `prediction`: the predicted response. Items of lists may be at other places in it; those are not marked. */
export function marksOf({ places }: PredictionDifference, prediction: Json): BothMarks {
  const real = new Map<string, ValueMark>();
  const predicted = new Map<string, ValueMark>();
  const value = jsonIn(prediction);
  for (const place of places) {
    if (place.path === '') continue; // the status, or the whole value
    if (place.real !== undefined) real.set(place.path, markOf(place, 'real'));
    if (place.predicted === undefined) continue;
    const at = placeIn(value, place.path, place.predicted);
    if (at !== undefined) predicted.set(at, markOf(place, 'predicted'));
  }
  return { real, predicted };
}

function markOf({ class: of, verdict, predicted, real }: DifferingPlace, side: ValueMark['side']): ValueMark {
  const other = side === 'real' ? predicted : real;
  const label = CLASS_LABELS[of];
  const title =
    other === undefined
      ? `${label}: only ${side === 'real' ? 'the result' : 'the prediction'} has it`
      : `${label}: ${side === 'real' ? 'predicted' : 'really'} ${valueText(other).slice(0, 200)}` +
        (verdict === 'plausible' ? ', which could not be known and does not count' : '');
  return { sign: PLACE_SIGNS[verdict], title, side, counts: verdict !== 'plausible' };
}

/** Returns where a predicted value is; undefined if it is elsewhere. */
function placeIn(prediction: Json, path: string, value: Json): string | undefined {
  if (path.startsWith('/')) return isSameJson(at(prediction, path), value) ? path : undefined;
  if (typeof prediction !== 'string') return undefined;
  const line = prediction.split('\n').indexOf(typeof value === 'string' ? value : '');
  return line === -1 ? undefined : `line ${line + 1}`;
}

/** Returns the value at a JSON pointer. */
function at(value: Json, pointer: string): Json | undefined {
  let current: Json | undefined = value;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(current)) current = current[Number(name)];
    else if (isJsonObject(current) && Object.hasOwn(current, name)) current = current[name];
    else return undefined;
  }
  return current;
}
