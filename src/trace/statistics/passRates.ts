/** pass@k and pass^k of one task, from n scored attempts of which c passed. */

/** How often a task was tried and passed. */
export interface Counts {
  /** Scored attempts. */
  readonly n: number;
  /** Passed ones. */
  readonly c: number;
}

/**
 * The unbiased estimate that at least one of k attempts passes: 1 − C(n−c, k) / C(n, k), as the product of 1 − k/i over
 * i = n−c+1 … n, which neither overflows nor cancels (Chen et al., arXiv:2107.03374). null when n < k.
 */
export function passAt({ n, c }: Counts, k: number): number | null {
  if (n < k) return null;
  if (n - c < k) return 1;
  let allFail = 1;
  for (let i = n - c + 1; i <= n; i++) allFail *= 1 - k / i;
  return 1 - allFail;
}

/**
 * The unbiased estimate that all of k attempts pass: C(c, k) / C(n, k) (τ-bench, arXiv:2406.12045). null when n < k.
 */
export function passAll({ n, c }: Counts, k: number): number | null {
  if (n < k) return null;
  let allPass = 1;
  for (let i = 0; i < k; i++) allPass *= Math.max(0, c - i) / (n - i);
  return allPass;
}

/** The k to report for n attempts per task: every one up to 10, else the powers of two and n; and those asked for. */
export function reportedKs(attempts: number, requested: readonly number[] = []): number[] {
  const ks = new Set(requested);
  if (attempts <= 10) for (let k = 1; k <= attempts; k++) ks.add(k);
  else for (let k = 1; k < attempts; k *= 2) ks.add(k);
  if (attempts > 0) ks.add(attempts);
  return [...ks].sort((a, b) => a - b);
}
