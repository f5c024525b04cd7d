/** How many of the ascending numbers are at most `limit`; so the last of those is at this − 1. */
export function countUpTo(ascending: readonly number[], limit: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? Infinity) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
