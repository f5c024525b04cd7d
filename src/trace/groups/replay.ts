/** Replay: successes of earlier groups of a task are delivered again, with a group in which no member passed. */
import type { RolloutRow } from '../summary.ts';
import { advantagesOf, type Estimator } from './advantages.ts';
import { versionsBehind } from './staleness.ts';
import { whyExcludedOf } from './whyExcluded.ts';

/** The largest share of the rollouts of a group that may be replayed. */
export const MAX_REPLAY_SHARE = 0.9;

/** A rollout that can be replayed. */
export interface Replayable {
  /** Index among the rows. */
  readonly index: number;
  /** How many versions its oldest call is behind; null if no version was ever announced. */
  readonly behind: number | null;
}

/** Returns how many rollouts may be replayed with so many members: at most `share` of all of them. */
export function replayCount(members: number, share: number): number {
  return Math.floor((members * share) / (1 - share) + 1e-9); // 0.2 / 0.8 * 4 must be 1
}

/** Returns whether a group gets replayed rollouts: it has members, and none of them passed. */
export function needsReplay(members: readonly RolloutRow[]): boolean {
  return members.length > 0 && members.every(({ progress }) => progress.passed !== true);
}

/**
 * Returns what can be replayed of an earlier group, the least old first: members that passed, if the group also had
 * others. `currentOf`: the version that an agent's endpoint serves now. `isVersioned`: whether members of the group
 * have versions; then a rollout without one may be of any age, and is not used.
 */
export function replayableOf(
  earlier: readonly RolloutRow[],
  currentOf: (agent: string) => number | undefined,
  { age, isVersioned }: { readonly age: number; readonly isVersioned: boolean },
): Replayable[] {
  const counting = earlier.filter((row) => whyExcludedOf(row) === undefined);
  if (counting.every(({ progress }) => progress.passed === true)) return [];
  return earlier
    .flatMap((row, index): Replayable[] => {
      if (row.progress.passed !== true || whyExcludedOf(row) !== undefined) return [];
      const behind = behindOf(row, currentOf);
      return behind === undefined || (behind === null ? isVersioned : behind > age) ? [] : [{ index, behind }];
    })
    .sort((a, b) => (a.behind ?? 0) - (b.behind ?? 0));
}

/** Returns the versions that a rollout is behind; null if it has no version, undefined if that cannot be said. */
function behindOf(
  { progress }: RolloutRow,
  currentOf: (agent: string) => number | undefined,
): number | null | undefined {
  const weighted = Object.entries(progress.weights ?? {});
  if (weighted.length === 0) return null;
  const all = weighted.map(([agent, weights]) => versionsBehind({ weights }, currentOf(agent)));
  return all.includes(undefined) ? undefined : Math.max(...all.map((behind) => behind ?? 0));
}

/** Returns the advantage of a replayed rollout: that of one more member. Those of the members do not change. */
export function replayAdvantage(
  estimator: Estimator,
  rewards: readonly (number | null)[],
  reward: number | null,
): number | null {
  return advantagesOf(estimator, [...rewards, reward]).at(-1) ?? null;
}
