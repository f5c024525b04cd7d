/**
 * How trainers turn the rewards of a group into advantages: how much better than the others of its group a rollout is.
 *
 * Statistics count rollouts, not segments: all segments of a rollout share its advantage.
 */
import { mean, spread } from './spread.ts';

/**
 * Estimators, each named as its trainer or paper names it, with K scored members, their mean, and their sample standard
 * deviation `std` (divided by K - 1):
 *
 * - ms_swift, trl: (r - mean) / (std + 1e-4), `scale_rewards=group` in both.
 * - verl: (r - mean) / (std + 1e-6), `adv_estimator=grpo`. It divides the reward of a single member by 1.
 * - dr_grpo: r - mean (arXiv 2503.20783).
 * - rloo: K / (K - 1) * (r - mean) (arXiv 2402.14740).
 * - leave_one_out: r - the mean of the others. Equal to rloo but for rounding.
 */
export const ESTIMATORS = ['ms_swift', 'trl', 'verl', 'dr_grpo', 'rloo', 'leave_one_out'] as const;
export type Estimator = (typeof ESTIMATORS)[number];

/** What the trainers that divide by the spread add to it, so that it is never 0. */
const EPSILONS = { ms_swift: 1e-4, trl: 1e-4, verl: 1e-6 } as const;

/**
 * Returns the advantage of each member of a group, in the order of `rewards`. A reward that is null or not finite
 * belongs to an excluded member: it has no part in the statistics, and its advantage is null. All advantages are 0 if
 * the rewards are equal or only one member is scored, because there is nothing to compare (only verl learns from a
 * single member).
 */
export function advantagesOf(estimator: Estimator, rewards: readonly (number | null)[]): (number | null)[] {
  const scored = rewards.filter((reward) => isScored(reward));
  const advantage = advantageIn(estimator, scored);
  return rewards.map((reward) => (isScored(reward) ? advantage(reward) : null));
}

/** Returns whether a member with this reward takes part in the statistics of its group. */
export function isScored(reward: number | null | undefined): reward is number {
  return Number.isFinite(reward);
}

/** Returns whether nothing can be learned from members with these rewards: all are equal, or there is only one. */
function hasNoSignal(scored: readonly number[]): boolean {
  return scored.every((reward) => reward === scored[0]);
}

function advantageIn(estimator: Estimator, scored: readonly number[]): (reward: number) => number {
  const count = scored.length;
  if (estimator === 'verl' && count === 1) return (reward) => reward / (1 + EPSILONS.verl);
  // The mean of equal rewards can differ from them in the last bit, which a small spread would blow up.
  if (hasNoSignal(scored)) return () => 0;
  const center = mean(scored);
  switch (estimator) {
    case 'ms_swift':
    case 'trl':
    case 'verl': {
      const divisor = spread(scored) + EPSILONS[estimator];
      return (reward) => (reward - center) / divisor;
    }
    case 'dr_grpo':
      return (reward) => reward - center;
    case 'rloo':
      return (reward) => (count / (count - 1)) * (reward - center);
    case 'leave_one_out': {
      const sum = center * count;
      return (reward) => reward - (sum - reward) / (count - 1);
    }
  }
}
