/** Finds where two attempts diverge and where they rejoin. */

import type { Action } from './actions.ts';
import { type Pair, pairwise } from './pairwise.ts';

export interface Split {
  /** Number of equal actions at the beginning. */
  readonly common: number;
  /** The first action of each that the other does not have; absent if there are no more actions. */
  readonly a?: Action;
  readonly b?: Action;
  /** The first equal pair of actions after that; absent if they never rejoin. */
  readonly rejoin?: { readonly a: Action; readonly b: Action };
  /** Number of equal actions divided by the length of the longer attempt; 1 for equal attempts. */
  readonly alike: number;
}

/** Returns undefined if all actions are equal. */
export function splitOf(
  a: readonly Action[],
  b: readonly Action[],
  pairs: readonly Pair[] = pairwise(a, b),
): Split | undefined {
  let common = 0;
  while (common < Math.min(a.length, b.length) && a[common]?.key === b[common]?.key) common += 1;
  const [x, y] = [a[common], b[common]];
  if (x === undefined && y === undefined) return undefined;
  const matches = pairs.flatMap((pair) => {
    const [i, j] = [pair.a === undefined ? undefined : a[pair.a], pair.b === undefined ? undefined : b[pair.b]];
    return i !== undefined && j !== undefined && i.key === j.key ? [{ a: i, b: j }] : [];
  });
  // Different words, such as two final answers, do not bring attempts together.
  const rejoin = matches.slice(common).find(({ a: i, b: j }) => i.kind !== 'text' || i.text === j.text);
  return {
    common,
    alike: matches.length / Math.max(a.length, b.length),
    ...(x === undefined ? {} : { a: x }),
    ...(y === undefined ? {} : { b: y }),
    ...(rejoin === undefined ? {} : { rejoin }),
  };
}
