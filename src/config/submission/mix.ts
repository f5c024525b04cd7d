/** The mix of a submission: which attempt is of which part, and what that changes. */
import { z } from 'zod';
import { seedOf } from '../../common/hash.ts';
import { withoutUndefined } from '../../common/withoutUndefined.ts';
import type { Submission, SubmittedAgent, SubmittedModel } from '../submission.ts';
import { submittedSampling } from './parts.ts';

export const submittedPart = z.object({
  name: z.string(),
  /** In millionths; those of all parts add up to one million. */
  share: z.number().int().min(1),
  /** Replaces these parameters of the agent and of the members of its team. */
  sampling: submittedSampling.optional(),
  /** Replaces the agent's. Contains unresolved `{{task.*}}` placeholders. */
  prompt: z.object({ text: z.string(), file: z.string().optional() }).optional(),
});
export type SubmittedPart = z.infer<typeof submittedPart>;

/**
 * Returns the part of the attempt with a place (from 1) among those of its task; undefined without a mix.
 *
 * Each part, in turn, gets floor(n · share + u) of the first n places that those before it left, where `share` is its
 * share of what they left, and `u` a random phase of the task (systematic sampling). So the places of a task have all
 * shares exactly whenever these are whole numbers of places; otherwise they are rounded, up in some tasks and down in
 * others, so that no part gets more than its share of a batch, however many attempts a task has. A place never changes
 * its part when a task gets more attempts.
 */
export function partAt(
  { mix, seed }: Pick<Submission, 'mix' | 'seed'>,
  task: string,
  place: number,
): SubmittedPart | undefined {
  if (mix === undefined) return undefined;
  let left = mix.reduce((sum, { share }) => sum + share, 0);
  let n = place;
  for (const [index, part] of mix.entries()) {
    if (part.share >= left) return part;
    const phase = seedOf(seed, task, 'mix', index) % left;
    const until = (count: number): number => Math.floor((count * part.share + phase) / left);
    const own = until(n);
    if (own > until(n - 1)) return part;
    n -= own;
    left -= part.share;
  }
  return mix.at(-1);
}

/** Returns the submission as the attempts of a part run it: its agent samples, or is instructed, differently. */
export function withPart(
  submission: Submission,
  { sampling, prompt }: Pick<SubmittedPart, 'sampling' | 'prompt'>,
): Submission {
  if (sampling === undefined && prompt === undefined) return submission;
  const agent = sampling === undefined ? submission.agent : sampledBy(submission.agent, sampling);
  return { ...submission, agent: prompt === undefined ? agent : { ...agent, prompt } };
}

type Sampling = SubmittedModel['sampling'];

/** Returns an agent with its team, whose models have these parameters instead of their own. */
function sampledBy(agent: SubmittedAgent, sampling: Sampling): SubmittedAgent {
  const { model, team } = agent;
  return {
    ...agent,
    model: { ...model, sampling: mergedSampling(model.sampling, sampling) },
    ...(team === undefined
      ? {}
      : {
          team: {
            ...team,
            members: team.members.map((member) => ({ ...member, agent: sampledBy(member.agent, sampling) })),
          },
        }),
  };
}

/** Returns sampling parameters of which some are replaced, in `extra` too. */
export function mergedSampling(before: Sampling, { extra, ...own }: Sampling): Sampling {
  return {
    ...before,
    ...withoutUndefined(own),
    ...(extra === undefined ? {} : { extra: { ...before.extra, ...extra } }),
  };
}
