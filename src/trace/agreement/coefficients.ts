/** Measures of agreement between raters who put units into categories. Pure. */

/** How often two raters chose each pair of categories: `counts[a][b]`. */
type Confusion = readonly (readonly number[])[];

/** Returns the share of units on which two raters agree; null without units. */
export function shareOf(counts: Confusion): number | null {
  const total = totalOf(counts);
  return total === 0 ? null : diagonalOf(counts) / total;
}

/**
 * Cohen's kappa of two raters: κ = (p_o − p_e) / (1 − p_e), where p_o is the share of units on which they agree, and
 * p_e the share expected by chance from how often each of them chose each category (J. Cohen, “A coefficient of
 * agreement for nominal scales”, Educational and Psychological Measurement 20, 1960, pp. 37–46). null without units, or
 * if both chose the same category every time: then chance explains everything.
 */
export function cohensKappa(counts: Confusion): number | null {
  const total = totalOf(counts);
  if (total === 0) return null;
  const observed = diagonalOf(counts) / total;
  const expected = counts.reduce((sum, row, category) => {
    const first = row.reduce((all, count) => all + count, 0) / total;
    const second = counts.reduce((all, other) => all + (other[category] ?? 0), 0) / total;
    return sum + first * second;
  }, 0);
  return 1 - expected < Number.EPSILON ? null : (observed - expected) / (1 - expected);
}

/**
 * Returns what one unit adds to the coincidences of values: for each category how many values it has that are paired,
 * and how many of its pairs differ. `values`: how many raters chose each category; raters without a value do not count.
 * Coincidences of units add up.
 */
export function coincidencesOf(values: readonly number[]): { readonly paired: number[]; readonly differing: number } {
  const raters = values.reduce((sum, count) => sum + count, 0);
  if (raters < 2) return { paired: values.map(() => 0), differing: 0 };
  const differing = values.reduce((sum, count) => sum + count * (raters - count), 0) / (raters - 1);
  return { paired: [...values], differing };
}

/**
 * Krippendorff's alpha for nominal data, any number of raters, and missing values: α = 1 − D_o / D_e with
 * D_o = Σ_{c≠k} o_ck and D_e = Σ_{c≠k} n_c n_k / (n − 1), from the coincidences o_ck of all units (K. Krippendorff,
 * “Computing Krippendorff's Alpha-Reliability”, University of Pennsylvania, 2011, sections B and C). `paired` and
 * `differing`: the sums of `coincidencesOf`. null if fewer than two values are paired, or all of them are equal.
 */
export function krippendorffsAlpha(paired: readonly number[], differing: number): number | null {
  const all = paired.reduce((sum, count) => sum + count, 0);
  const expected = paired.reduce((sum, count) => sum + count * (all - count), 0);
  return all < 2 || expected === 0 ? null : 1 - (differing * (all - 1)) / expected;
}

function totalOf(counts: Confusion): number {
  return counts.reduce((sum, row) => sum + row.reduce((all, count) => all + count, 0), 0);
}

function diagonalOf(counts: Confusion): number {
  return counts.reduce((sum, row, category) => sum + (row[category] ?? 0), 0);
}
