/** `${env:NAME}`: stays as written in files and submissions; values travel apart and are put in by whoever acts. */
import { StudioError } from '../common/errors.ts';
import type { Submission, SubmittedAgent } from './submission.ts';

const REFERENCE = /\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g;
const ANY_PLACEHOLDER = /\$\{[^}]*\}?/g;

/** Names used in one text, in order. */
export function envNamesIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].map((match) => match[1] ?? '');
}

/** `${…}` in a text that is no reference to an environment variable, e.g. `${HOME}` or `${env:}`. */
export function strayPlaceholders(text: string): string[] {
  return (text.match(ANY_PLACEHOLDER) ?? []).filter((found) => envNamesIn(found).length === 0);
}

/**
 * A copy of `value` with every `${env:NAME}` in its texts replaced (not in keys). Throws StudioError `config` when a
 * value is not among `secrets`. Not for prompts and rubrics: those are texts and never touched; for a whole
 * submission see `resolveSubmission`.
 */
export function resolveEnv<T>(value: T, secrets: Readonly<Record<string, string>>): T {
  return resolve(value, secrets) as T; // the same shape: only texts change
}

function resolve(value: unknown, secrets: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') {
    if (!value.includes('${env:')) return value;
    return value.replaceAll(REFERENCE, (_, name: string) => {
      const secret = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
      if (secret !== undefined) return secret;
      throw new StudioError('config', `The value of the environment variable ${name} did not come with this batch.`, {
        hint: `Set ${name} and submit the batch again.`,
      });
    });
  }
  if (Array.isArray(value)) return value.map((item: unknown) => resolve(item, secrets));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, member]: [string, unknown]) => [key, resolve(member, secrets)]),
    );
  }
  return value;
}

/** A submission ready to act on: every reference put in, but in prompts and rubrics. Throws as `resolveEnv` does. */
export function resolveSubmission(submission: Submission, secrets: Readonly<Record<string, string>>): Submission {
  const { agent, world, scorer } = submission;
  return {
    ...submission,
    agent: resolveAgent(agent, secrets),
    ...(world?.user === undefined
      ? {}
      : { world: { ...world, user: { ...world.user, model: resolveEnv(world.user.model, secrets) } } }),
    scorer: scorer.kind === 'judge' ? { ...scorer, model: resolveEnv(scorer.model, secrets) } : scorer,
    ...(submission.notify === undefined ? {} : { notify: resolveEnv(submission.notify, secrets) }),
  };
}

function resolveAgent(agent: SubmittedAgent, secrets: Readonly<Record<string, string>>): SubmittedAgent {
  const { team } = agent;
  return {
    ...agent,
    model: resolveEnv(agent.model, secrets),
    tools: resolveEnv(agent.tools, secrets),
    ...(team === undefined
      ? {}
      : {
          team: {
            ...team,
            members: team.members.map((member) => ({ ...member, agent: resolveAgent(member.agent, secrets) })),
          },
        }),
  };
}
