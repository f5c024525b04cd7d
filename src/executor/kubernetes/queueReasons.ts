/** Why Kueue admits no pods of a Job, as the events of its Workload say. */
import type { KubeEvent } from '../../kubernetes/access/objects.ts';

/** Kueue names the Workload of a Job `job-NAME-HASH`. Those of our Jobs begin with `rollout-`. */
const WORKLOAD_OF_JOB = /^job-(rollout-.+)-[0-9a-f]{5}$/;
const ADMITTED: ReadonlySet<string> = new Set(['QuotaReserved', 'Admitted']);
/** Such as `EvictedDueToPreempted`, `EvictedDueToClusterQueueStopped`. */
const REFUSED = /^(Pending|Preempted|Evicted)/;

export class QueueReasons {
  readonly #byJob = new Map<string, string>();

  /** Reads an event. Returns the name of the Job if it says why, or no longer says why, the Job waits. */
  read({ involvedObject: { kind, name = '' }, reason = '', message = '' }: KubeEvent): string | undefined {
    const job = kind === 'Workload' ? WORKLOAD_OF_JOB.exec(name)?.[1] : undefined;
    if (job === undefined) return undefined;
    if (ADMITTED.has(reason)) this.#byJob.delete(job);
    else if (REFUSED.test(reason) && message !== '') this.#byJob.set(job, message);
    else return undefined;
    return job;
  }

  of(job: string): string | undefined {
    return this.#byJob.get(job);
  }

  remove(job: string): void {
    this.#byJob.delete(job);
  }
}
