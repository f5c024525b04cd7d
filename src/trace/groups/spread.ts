/** Returns the mean of at least one value. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Returns the standard deviation of the values; 0 if there are fewer than two. `ddof`: 1 for that of a sample, 0 for
 * that of a population.
 */
export function spread(values: readonly number[], ddof: 0 | 1 = 1): number {
  if (values.length < 2) return 0;
  const center = mean(values);
  const squares = values.reduce((sum, value) => sum + (value - center) ** 2, 0);
  return Math.sqrt(squares / (values.length - ddof));
}
