/** The submission as one rollout runs it: that of its part of the mix. */
import { partAt, type SubmittedPart, withPart } from '../../config/submission/mix.ts';
import type { Submission } from '../../config/submission.ts';
import type { Grant } from '../../protocol/worker.ts';

/** The variants of submissions, by part: all rollouts of a part share one. */
const variants = new WeakMap<Submission, Map<string, Submission>>();

/** What a rollout runs, and the name of its part, if its batch has a mix. */
interface Variant {
  readonly submission: Submission;
  readonly part?: string;
}

type Place = Pick<Grant, 'task' | 'attempt' | 'place' | 'part' | 'rescores'>;

/** Returns what a rollout runs. A rollout that scores another one again runs no agent, so it has no part. */
export function variantFor(submission: Submission, grant: Place): Variant {
  const part = grant.rescores === undefined ? partOf(submission, grant) : undefined;
  if (part === undefined) return { submission };
  const known = variants.get(submission) ?? new Map<string, Submission>();
  variants.set(submission, known);
  const variant = known.get(part.name) ?? withPart(submission, part);
  known.set(part.name, variant);
  return { submission: variant, part: part.name };
}

/** Returns the part of a rollout. A fork has its parent's, unless it continues with files that no longer have it. */
function partOf(submission: Submission, { task, attempt, place, part }: Place): SubmittedPart | undefined {
  if (part !== undefined) return submission.mix?.find(({ name }) => name === part);
  return partAt(submission, task.id, place ?? attempt);
}
