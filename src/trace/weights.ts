/** Versions of the weights that model calls were made with. */
import type { ModelSpan } from './model/spans.ts';

/** Versions are whole numbers that grow with each update; others are ordered by the numbers in them. */
export function byVersion(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

/** Returns the versions under which a call began and ended; undefined if none was announced. */
export function weightsOf({
  start,
  end,
}: Pick<ModelSpan, 'start' | 'end'>): { readonly from: string; readonly to: string } | undefined {
  const to = end?.data.weights;
  const from = end?.data.weights_from ?? start.data.weights ?? to;
  return from === undefined ? undefined : { from, to: to ?? from };
}

/** Returns the oldest and the newest of versions; undefined if there is none. */
export function rangeOf(versions: readonly string[]): readonly [string, string] | undefined {
  const [first, ...others] = versions;
  if (first === undefined) return undefined;
  let [oldest, newest] = [first, first];
  for (const one of others) {
    if (byVersion(one, oldest) < 0) oldest = one;
    if (byVersion(one, newest) > 0) newest = one;
  }
  return [oldest, newest];
}
