/** What the state of a batch and the failures of its pods mean. Pure. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { sentence } from '../../common/text.ts';
import type { Submission } from '../../config/submission.ts';
import type { BatchRecord } from '../../store/store.ts';
import { attemptCount } from '../../trace/outcome.ts';
import { FOREIGN } from './batchObjects.ts';
import type { Round } from './jobRounds.ts';

/** Returns why a suspended Job has no pods. `reason`: what its queue says. */
export function suspendedText({ name }: Round, queue: string | undefined, reason: string | undefined): string {
  if (queue === undefined) return `Job ${name} is suspended. No pod starts until it is resumed.`;
  return sentence(
    `Job ${name} is waiting for admission by the queue ${queue}${reason === undefined ? '' : `: ${reason}`}`,
  );
}

/** Details of an error about missing values. */
export const missingValues = z.looseObject({ missing: z.array(z.string()) });

/** Returns whether an object belongs to another program. */
export function isForeign(error: unknown): boolean {
  return StudioError.is(error, 'conflict') && error.details?.['reason'] === FOREIGN;
}

/** Returns the number of settled attempts. */
export function settledOf({ row: { counts } }: BatchRecord): number {
  return attemptCount({ counts }) - counts.queued - counts.running - counts.held;
}

/** Returns why a Job has no pods if others suspended it. */
export function suspension(
  active: Round | undefined,
  queue: string | undefined,
  reason: (job: string) => string | undefined,
): { readonly why: 'cluster' | 'queue'; readonly text: string } | undefined {
  if (active?.suspended !== true || active.released) return undefined;
  return { why: queue === undefined ? 'cluster' : 'queue', text: suspendedText(active, queue, reason(active.name)) };
}

/** Returns the submission with the queue of the cluster that its batch uses, unless it names one. */
export function withQueue(submission: Submission, localQueue: string | undefined): Submission {
  const { queue = localQueue } = submission.pods ?? {};
  return queue === undefined ? submission : { ...submission, pods: { ...submission.pods, queue } };
}
