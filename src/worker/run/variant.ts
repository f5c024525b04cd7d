/** The submission as one rollout runs it: that of its part of the mix, with the sampling of its group. */
import { withoutUndefined } from '../../common/withoutUndefined.ts';
import { partAt, type SubmittedPart, withPart } from '../../config/submission/mix.ts';
import type { Submission } from '../../config/submission.ts';
import type { Grant } from '../../protocol/worker.ts';

/** The variants of submissions, by part and sampling: all rollouts with the same ones share one. */
const variants = new WeakMap<Submission, Map<string, Submission>>();
/** A trainer may ask for any number of samplings, one after another. */
const MAX_VARIANTS = 100;

/** What a rollout runs, and the name of its part, if its batch has a mix. */
interface Variant {
  readonly submission: Submission;
  readonly part?: string;
}

type Place = Pick<Grant, 'task' | 'attempt' | 'place' | 'part' | 'sampling' | 'rescores'>;

/** Returns what a rollout runs. A rollout that scores another one again runs no agent, so nothing changes it. */
export function variantFor(submission: Submission, grant: Place): Variant {
  if (grant.rescores !== undefined) return { submission };
  const part = partOf(submission, grant);
  const own = part === undefined ? {} : { part: part.name };
  const { sampling } = grant;
  if (part === undefined && sampling === undefined) return { submission };
  const known = variants.get(submission) ?? new Map<string, Submission>();
  variants.set(submission, known);
  const key = JSON.stringify([part?.name ?? null, sampling ?? null]);
  const shared = known.get(key);
  if (shared !== undefined) return { submission: shared, ...own };
  const variant = sampledAs(part === undefined ? submission : withPart(submission, part), sampling);
  if (known.size >= MAX_VARIANTS) known.clear();
  known.set(key, variant);
  return { submission: variant, ...own };
}

function sampledAs(submission: Submission, sampling: Place['sampling']): Submission {
  return sampling === undefined ? submission : withPart(submission, { sampling: withoutUndefined(sampling) });
}

/** Returns the part of a rollout. A fork has its parent's, unless it continues with files that no longer have it. */
function partOf(submission: Submission, { task, attempt, place, part }: Place): SubmittedPart | undefined {
  if (part !== undefined) return submission.mix?.find(({ name }) => name === part);
  return partAt(submission, task.id, place ?? attempt);
}
