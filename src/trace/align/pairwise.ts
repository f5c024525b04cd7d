/**
 * Aligns two lists of actions with minimal total cost. The method is that of Needleman and Wunsch (J. Mol. Biol. 48,
 * 1970): a table of the minimal costs of all prefixes, traced back from its end. Common prefixes and suffixes are
 * paired without a table, which does not change the cost.
 */
import type { Action } from './actions.ts';

/** Indexes into the two lists. One of them is absent for an action without a counterpart. */
export interface Pair {
  readonly a?: number;
  readonly b?: number;
}

type ComparedAction = Pick<Action, 'key' | 'shape' | 'kind'>;

/** Cost of an action without a counterpart. */
const GAP = 4;
const OTHER_ARGUMENTS = 3;
/** Slightly less than two gaps. */
const OTHER_TOOL = 7;
/** More than two gaps: actions of different kinds are never paired. */
const OTHER_KIND = 9;

/** Returns the pairs in order. Every index occurs exactly once. Symmetric: swapped lists give swapped pairs. */
export function pairwise(a: readonly ComparedAction[], b: readonly ComparedAction[]): Pair[] {
  // Among alignments with the same cost, the choice must not depend on the order of the lists.
  return comesFirst(b, a) ? ordered(b, a).map(({ a: x, b: y }) => pair(y, x)) : ordered(a, b);
}

/** Returns the cost of an alignment; 0 for equal actions. */
export function costOf(a: readonly ComparedAction[], b: readonly ComparedAction[], pairs: readonly Pair[]): number {
  return pairs.reduce(
    (sum, { a: i, b: j }) => sum + pairCost(i === undefined ? undefined : a[i], j === undefined ? undefined : b[j]),
    0,
  );
}

function ordered(a: readonly ComparedAction[], b: readonly ComparedAction[]): Pair[] {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head]?.key === b[head]?.key) head += 1;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail]?.key === b[b.length - 1 - tail]?.key) tail += 1;
  const pairs: Pair[] = Array.from({ length: head }, (_, index) => ({ a: index, b: index }));
  pairs.push(
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)).map(({ a: i, b: j }) =>
      pair(shift(i, head), shift(j, head)),
    ),
  );
  for (let index = tail; index > 0; index--) pairs.push({ a: a.length - index, b: b.length - index });
  return pairs;
}

/** Aligns by table. Row i, column j: the minimal cost of the first i actions of `a` and the first j of `b`. */
function middle(a: readonly ComparedAction[], b: readonly ComparedAction[]): Pair[] {
  const [keysA, keysB] = intern(
    a.map((one) => one.key),
    b.map((one) => one.key),
  );
  const [shapesA, shapesB] = intern(
    a.map((one) => one.shape),
    b.map((one) => one.shape),
  );
  const [kindsA, kindsB] = intern(
    a.map((one) => one.kind),
    b.map((one) => one.kind),
  );
  const step = (i: number, j: number): number =>
    keysA[i] === keysB[j]
      ? 0
      : shapesA[i] === shapesB[j]
        ? OTHER_ARGUMENTS
        : kindsA[i] === kindsB[j]
          ? OTHER_TOOL
          : OTHER_KIND;
  const width = b.length + 1;
  const costs = new Int32Array((a.length + 1) * width);
  for (let j = 1; j <= b.length; j++) costs[j] = j * GAP;
  // The cells to the left and above left are in variables, because this loop takes most of the time.
  for (let i = 1, place = width; i <= a.length; i++) {
    let left = i * GAP;
    let corner = left - GAP;
    costs[place++] = left;
    for (let j = 1; j <= b.length; j++, place++) {
      const above = costs[place - width] ?? 0;
      left = Math.min(corner + step(i - 1, j - 1), above + GAP, left + GAP);
      corner = above;
      costs[place] = left;
    }
  }
  const at = (i: number, j: number): number => costs[i * width + j] ?? 0;
  const pairs: Pair[] = [];
  let [i, j] = [a.length, b.length];
  while (i > 0 || j > 0) {
    if (i > 0 && j > 0 && at(i, j) === at(i - 1, j - 1) + step(i - 1, j - 1)) pairs.push({ a: --i, b: --j });
    else if (i > 0 && at(i, j) === at(i - 1, j) + GAP) pairs.push({ a: --i });
    else pairs.push({ b: --j });
  }
  return pairs.reverse();
}

function pairCost(a: ComparedAction | undefined, b: ComparedAction | undefined): number {
  if (a === undefined || b === undefined) return GAP;
  return a.key === b.key ? 0 : a.shape === b.shape ? OTHER_ARGUMENTS : a.kind === b.kind ? OTHER_TOOL : OTHER_KIND;
}

/** Converts texts to numbers that are equal if the texts are: the table compares them millions of times. */
function intern(a: readonly string[], b: readonly string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const number = (text: string): number => {
    const id = numbers.get(text) ?? numbers.size;
    numbers.set(text, id);
    return id;
  };
  return [Int32Array.from(a, number), Int32Array.from(b, number)];
}

function comesFirst(a: readonly ComparedAction[], b: readonly ComparedAction[]): boolean {
  if (a.length !== b.length) return a.length < b.length;
  const index = a.findIndex((one, at) => one.key !== b[at]?.key);
  return index >= 0 && (a[index]?.key ?? '') < (b[index]?.key ?? '');
}

function shift(index: number | undefined, by: number): number | undefined {
  return index === undefined ? undefined : index + by;
}

function pair(a: number | undefined, b: number | undefined): Pair {
  return { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) };
}
