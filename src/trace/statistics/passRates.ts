/** pass@k and pass^k of one task, from n scored attempts of which c passed. */

/** Attempts of a task. */
export interface Counts {
  /** Scored attempts. */
  readonly n: number;
  /** Passed ones. */
  readonly c: number;
}

/**
 * Returns the unbiased estimate of the probability that at least one of k attempts passes: 1 − C(n−c, k) / C(n, k). It
 * is computed as 1 minus the product of 1 − k/i over i = n−c+1 … n, which neither overflows nor cancels (Chen et al.,
 * arXiv:2107.03374). null if n < k.
 */
export function passAt({ n, c }: Counts, k: number): number | null {
  if (n < k) return null;
  if (n - c < k) return 1;
  if (k === 1) return c / n; // exactly as pass^1: a rounding error would print another figure
  let allFail = 1;
  for (let i = n - c + 1; i <= n; i++) allFail *= 1 - k / i;
  return 1 - allFail;
}

/**
 * Returns the unbiased estimate of the probability that all of k attempts pass: C(c, k) / C(n, k) (τ-bench,
 * arXiv:2406.12045). null if n < k.
 */
export function passAll({ n, c }: Counts, k: number): number | null {
  if (n < k) return null;
  let allPass = 1;
  for (let i = 0; i < k; i++) allPass *= Math.max(0, c - i) / (n - i);
  return allPass;
}

/** Returns the k to report for n attempts per task: 1 to n if n ≤ 10, else powers of two and n; and `requested`. */
export function reportedKs(attempts: number, requested: readonly number[] = []): number[] {
  const ks = new Set(requested);
  if (attempts <= 10) for (let k = 1; k <= attempts; k++) ks.add(k);
  else for (let k = 1; k < attempts; k *= 2) ks.add(k);
  if (attempts > 0) ks.add(attempts);
  return [...ks].sort((a, b) => a - b);
}
