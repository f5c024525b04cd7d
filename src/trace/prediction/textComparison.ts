import type { Comparison } from './comparison.ts';

/** Compares two texts by lines, and by the words of lines that belong together. */
export function compareTexts(comparison: Comparison, predicted: string, real: string): void {
  const [ones, others] = [linesOf(predicted), linesOf(real)];
  for (const { one, other } of pairsOf(ones, others)) {
    const [mine, yours] = [one === undefined ? undefined : ones[one], other === undefined ? undefined : others[other]];
    if (yours === undefined) {
      comparison.count('existing', false, false);
      comparison.note({ path: `line ${(one ?? 0) + 1}`, class: 'existing', predicted: mine ?? '' }, 'additional');
      continue;
    }
    compareLines(comparison, `line ${(other ?? 0) + 1}`, mine, yours);
  }
}

function linesOf(text: string): string[] {
  return text.trimEnd().split('\n');
}

function compareLines(comparison: Comparison, path: string, predicted: string | undefined, real: string): void {
  const equal = predicted === real;
  const { differing, plausible } = comparison.words(predicted ?? '', real);
  const agrees = predicted !== undefined && (equal || isPlausibleLine(predicted, real));
  comparison.count('existing', agrees, equal);
  if (predicted === undefined) comparison.note({ path, class: 'existing', real }, 'missing');
  else if (differing !== undefined) comparison.note({ path, class: differing, predicted, real }, 'differs');
  else if (!equal)
    comparison.note({ path, class: plausible ?? 'existing', predicted, real }, agrees ? 'plausible' : 'differs');
}

/** A line that is this many times longer is another one. */
const MAX_RATIO = 5;
/** Lines up to this length may be of any length. */
const SHORT = 20;

function isPlausibleLine(predicted: string, real: string): boolean {
  const [a, b] = [predicted.trim().length, real.trim().length];
  if ((a === 0) !== (b === 0)) return false;
  return Math.max(a, b) <= Math.max(Math.min(a, b), SHORT) * MAX_RATIO;
}

interface LinePair {
  readonly one: number | undefined;
  readonly other: number | undefined;
}

/** Pairs lines: those that occur once in both texts and in the same order, then what lies between them by position. */
function pairsOf(ones: readonly string[], others: readonly string[]): LinePair[] {
  const pairs: LinePair[] = [];
  let [one, other] = [0, 0];
  for (const anchor of [...anchorsOf(ones, others), [ones.length, others.length] as const]) {
    while (one < anchor[0] || other < anchor[1])
      pairs.push({ one: one < anchor[0] ? one++ : undefined, other: other < anchor[1] ? other++ : undefined });
    if (anchor[0] < ones.length) pairs.push({ one: one++, other: other++ });
  }
  return pairs;
}

/** Returns the longest list of lines that are unique in both texts and have the same order in both. */
function anchorsOf(ones: readonly string[], others: readonly string[]): (readonly [number, number])[] {
  const places = uniquePlaces(ones);
  const common = [...uniquePlaces(others)].flatMap(([line, other]) => {
    const one = places.get(line);
    return one === undefined ? [] : [[one, other] as const];
  });
  // Patience sorting: `tops` are the ends of the best lists of each length.
  const tops: number[] = [];
  const previous: (number | undefined)[] = [];
  for (const [index, [one]] of common.entries()) {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((common[tops[middle] ?? 0]?.[0] ?? 0) < one) low = middle + 1;
      else high = middle;
    }
    previous.push(low === 0 ? undefined : tops[low - 1]);
    tops[low] = index;
  }
  const anchors: (readonly [number, number])[] = [];
  for (let at = tops.at(-1); at !== undefined; at = previous[at]) {
    const pair = common[at];
    if (pair !== undefined) anchors.push(pair);
  }
  return anchors.reverse();
}

function uniquePlaces(lines: readonly string[]): Map<string, number> {
  const places = new Map<string, number>();
  const repeated = new Set<string>();
  for (const [index, line] of lines.entries()) {
    if (places.has(line)) repeated.add(line);
    places.set(line, index);
  }
  for (const line of repeated) places.delete(line);
  return places;
}
