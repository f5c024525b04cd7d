/** Decides how many pods a batch gets, and how many rollouts each runs concurrently. Pure. */
import { DEFAULTS } from '../../config/defaults.ts';
import type { Submission } from '../../config/submission.ts';

export interface PodSizing {
  /** Pods in total, not counting replaced ones. */
  readonly completions: number;
  /** Concurrent pods. */
  readonly parallelism: number;
  /** Concurrent rollouts in a pod. */
  readonly slots: number;
}

/** What decides about the pods of a batch. */
export interface SizedBatch {
  readonly concurrency: Submission['concurrency'];
  readonly pods?: Pick<NonNullable<Submission['pods']>, 'count' | 'isolation'> | undefined;
}

/** `open`: rollouts queued or running. `sealed`: no more tasks will be added; otherwise pods are sized for many. */
export function podSizing({ pods = {}, concurrency }: SizedBatch, open: number, sealed: boolean): PodSizing {
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
  // Split the work among all pods, so that the first one does not take all of it. A number set by the user is kept.
  const part = Math.ceil(atOnce / count);
  const slots = concurrency === 'auto' ? (sealed ? Math.min(most, part) : most) : part;
  return { completions: count, parallelism: count, slots };
}

/** How many pods a Job has at once, and how many indexes. */
export type JobSize = Pick<PodSizing, 'completions' | 'parallelism'>;

/** Returns the sizes with another number of concurrent pods. `single`: each pod runs a single rollout. */
export function resized<T extends JobSize>(size: T, pods: number, single: boolean): T {
  // Where pods run many rollouts, a Job has no more indexes than pods at once.
  return { ...size, parallelism: pods, ...(single ? {} : { completions: Math.min(size.completions, pods) }) };
}

/** Returns the sizes of a Job that gets more pods; undefined if it gets none. */
export function grown({ completions, parallelism }: JobSize, more: number, single: boolean): JobSize | undefined {
  const pods = single ? Math.min(completions, parallelism + more) : parallelism + more;
  return pods <= parallelism ? undefined : { parallelism: pods, completions: single ? completions : pods };
}
