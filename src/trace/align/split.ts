/** Finds where two attempts diverge and where they rejoin. */

import type { Action } from './actions.ts';
import { type Pair, pairwise } from './pairwise.ts';

export interface Split {
  /** Number of equal actions at the beginning. */
  readonly common: number;
  /** The first action of each that the other did not do; absent where it is at its end. */
  readonly a?: Action;
  readonly b?: Action;
  /** The first action after that which both did again, side by side; absent when they never meet. */
  readonly rejoin?: { readonly a: Action; readonly b: Action };
  /** Actions both did, over those of the longer: 1 = the same attempt. */
  readonly alike: number;
}

/** undefined: both did the same from beginning to end. */
export function splitOf(
  a: readonly Action[],
  b: readonly Action[],
  pairs: readonly Pair[] = pairwise(a, b),
): Split | undefined {
  let common = 0;
  while (common < Math.min(a.length, b.length) && a[common]?.key === b[common]?.key) common += 1;
  const [x, y] = [a[common], b[common]];
  if (x === undefined && y === undefined) return undefined;
  const met = pairs.flatMap((pair) => {
    const [i, j] = [pair.a === undefined ? undefined : a[pair.a], pair.b === undefined ? undefined : b[pair.b]];
    return i !== undefined && j !== undefined && i.key === j.key ? [{ a: i, b: j }] : [];
  });
  const rejoin = met[common];
  return {
    common,
    alike: met.length / Math.max(a.length, b.length),
    ...(x === undefined ? {} : { a: x }),
    ...(y === undefined ? {} : { b: y }),
    ...(rejoin === undefined ? {} : { rejoin }),
  };
}
