/** Which rows of a group were sampled by weights that are too old for the trainer. */

/**
 * What happens to a group that is too old. `mark`: it is delivered, and says so. `drop`: its rows are not. `wait`: it
 * is delivered when others have replaced its members that are too old; if that is not possible, as with `mark`.
 */
export const STALE_RULES = ['mark', 'drop', 'wait'] as const;
export type StaleRule = (typeof STALE_RULES)[number];

/** A row of a group, as far as its weights count: the oldest and newest version that sampled it. */
export interface WeightedRow {
  readonly weights?: readonly [string, string] | undefined;
}

/**
 * Returns how many versions the oldest call of a row is behind the current version; undefined if one of them is not
 * known or no number. A version that is newer than the current one was taken back (the trainer returned to an earlier
 * checkpoint): the row is infinitely far behind.
 */
export function versionsBehind({ weights }: WeightedRow, current: number | undefined): number | undefined {
  if (weights === undefined || current === undefined) return undefined;
  const [oldest, newest] = weights.map(Number);
  if (oldest === undefined || newest === undefined || !Number.isInteger(oldest) || !Number.isInteger(newest))
    return undefined;
  return newest > current ? Infinity : current - oldest;
}

export interface Staleness {
  /** Of the oldest row; undefined if no row has a version. */
  readonly behind: number | undefined;
  /** Indices of the rows that are too old. */
  readonly stale: readonly number[];
  /** What to do with the group: `deliver` unless a row is too old. */
  readonly then: 'deliver' | StaleRule;
}

/**
 * Judges a group at its delivery. `currentOf`: the version that the row's endpoint serves now. Rows without a version
 * are never too old. Without `maxVersions`, nothing is.
 */
export function stalenessOf<R extends WeightedRow>(
  rows: readonly R[],
  currentOf: (row: R) => number | undefined,
  { max_versions: maxVersions = Infinity, stale: rule = 'mark' }: { max_versions?: number; stale?: StaleRule },
): Staleness {
  let behind: number | undefined;
  const stale: number[] = [];
  for (const [index, row] of rows.entries()) {
    const versions = versionsBehind(row, currentOf(row));
    if (versions === undefined) continue;
    behind = Math.max(behind ?? 0, versions);
    if (versions > maxVersions) stale.push(index);
  }
  return { behind, stale, then: stale.length === 0 ? 'deliver' : rule };
}
