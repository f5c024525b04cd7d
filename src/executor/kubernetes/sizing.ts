/** How many pods a batch gets, and how many rollouts each runs at once. Pure. */
import { DEFAULTS } from '../../config/defaults.ts';
import type { Submission } from '../../config/submission.ts';

export interface PodSizing {
  /** Pods in all, those that are replaced not counted. */
  readonly completions: number;
  /** Pods at once. */
  readonly parallelism: number;
  /** Rollouts at once in a pod. */
  readonly slots: number;
}

/** `open`: rollouts queued or running. `sealed`: no more will come; else the pods are ready for many. */
export function podSizing({ pods = {}, concurrency }: Submission, open: number, sealed: boolean): PodSizing {
  const { slots: most } = DEFAULTS.pods;
  const atOnce = Math.max(1, concurrency === 'auto' ? open : Math.min(concurrency, sealed ? open : concurrency));
  if ((pods.isolation ?? DEFAULTS.pods.isolation) === 'pod') {
    return {
      completions: Math.max(1, open),
      parallelism: Math.min(pods.count ?? DEFAULTS.pods.count, atOnce, Math.max(1, open)),
      slots: 1,
    };
  }
  const count = pods.count ?? Math.min(DEFAULTS.pods.count, Math.ceil(atOnce / most));
  // All pods get their part of the work: one that comes early must not take it all. A number is the user's word.
  const part = Math.ceil(atOnce / count);
  const slots = concurrency === 'auto' ? (sealed ? Math.min(most, part) : most) : part;
  return { completions: count, parallelism: count, slots };
}
