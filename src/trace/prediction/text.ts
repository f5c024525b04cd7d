/** Says how a prediction differs. */
import { plural } from '../../common/text.ts';
import { percent } from '../../common/units.ts';
import { PREDICTION_PARTS, type PredictionPart } from '../schema/prediction.ts';
import { valueText } from '../text/values.ts';
import type { DifferingPlace, PlaceVerdict, PredictionDifference } from './difference.ts';

export const PART_LABELS: Readonly<Record<PredictionPart, string>> = {
  status: 'status',
  keys: 'keys',
  deterministic: 'deterministic values',
  existing: 'pre-existing values',
  runtime: 'runtime values',
};

export const CLASS_LABELS: Readonly<Record<DifferingPlace['class'], string>> = {
  status: 'status',
  format: 'format',
  keys: 'key',
  deterministic: 'deterministic',
  existing: 'pre-existing',
  runtime: 'runtime',
};

/** Signs of places; `signs` of the page have the same meaning. */
export const PLACE_SIGNS: Readonly<Record<PlaceVerdict, string>> = {
  differs: '≠',
  plausible: '≈',
  missing: '−',
  additional: '+',
};

/** Returns `status 100%, keys 80%, deterministic values 50%`. */
export function partsText(parts: Readonly<Record<string, number>>): string {
  return PREDICTION_PARTS.flatMap((part) => {
    const share = parts[part];
    return share === undefined ? [] : [`${PART_LABELS[part]} ${percent(share)}`];
  }).join(', ');
}

/** Formats an accuracy: `100%` only if all was right. */
export function accuracyText(accuracy: number | null): string {
  if (accuracy === null) return '–';
  return accuracy < 1 && accuracy >= 0.995 ? '99%' : percent(accuracy);
}

/** Returns whether the prediction was right, or how many places differ. What was not to be known does not count. */
export function differenceText({ places, more }: PredictionDifference): string {
  const counted = places.filter(({ verdict }) => verdict !== 'plausible').length + more;
  const plausible = places.length + more - counted;
  const not = plausible === 0 ? '' : `, and ${plural(plausible, 'value')} could not be known`;
  if (counted > 0) return `${plural(counted, 'place')} ${counted === 1 ? 'differs' : 'differ'}${not}`;
  return plausible === 0 ? 'as predicted' : `as predicted${not}`;
}

/** Returns one line for each place: `≠ /due: predicted "2026-04-06", real "2026-04-13" (deterministic)`. */
export function placeLines({ places, more }: Pick<PredictionDifference, 'places' | 'more'>): string[] {
  const lines = places.map(({ path, class: of, predicted, real, verdict }) => {
    const sides = [
      ...(predicted === undefined ? [] : [`predicted ${valueText(predicted)}`]),
      ...(real === undefined ? [] : [`real ${valueText(real)}`]),
    ];
    const at = path === '' ? '' : `${path}: `;
    return `${PLACE_SIGNS[verdict]} ${at}${sides.join(', ')} (${CLASS_LABELS[of]})`;
  });
  return more === 0 ? lines : [...lines, `… and ${plural(more, 'more place')}`];
}
