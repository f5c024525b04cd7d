/** `${env:NAME}` stays as written in files and submissions; values are sent separately and filled in where needed. */
import { StudioError } from '../common/errors.ts';
import { secretsInUrl } from '../common/redaction/hidable.ts';
import type { SubmittedPart } from './submission/mix.ts';
import { mapWorlds } from './submission/nested.ts';
import type {
  Submission,
  SubmittedAgent,
  SubmittedScorer,
  SubmittedSimulatedWorld,
  SubmittedWorld,
} from './submission.ts';

const REFERENCE = /\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g;
const ANY_PLACEHOLDER = /\$\{[^}]*\}?/g;

/** Returns the names used in a text, in order. */
export function envNamesIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].map((match) => match[1] ?? '');
}

/** Returns each `${…}` in a text that is not a reference to an environment variable, e.g. `${HOME}` or `${env:}`. */
export function strayPlaceholders(text: string): string[] {
  return (text.match(ANY_PLACEHOLDER) ?? []).filter((found) => envNamesIn(found).length === 0);
}

/**
 * Returns the texts to hide: the values of variables, except those in `shown`, of which only the keys in a URL are
 * secret.
 */
export function hiddenValues(shown: readonly string[], values: Readonly<Record<string, string>>): string[] {
  const open = new Set(shown);
  return Object.entries(values).flatMap(([name, value]) => (open.has(name) ? secretsInUrl(value) : [value]));
}

/**
 * Returns a copy of `value` with every `${env:NAME}` in its strings (not in keys) replaced. Throws StudioError
 * `config` if `secrets` lacks a value. Do not use it for prompts and rubrics, which are never changed; for a whole
 * submission, see `resolveSubmission`.
 */
export function resolveEnv<T>(value: T, secrets: Readonly<Record<string, string>>): T {
  return resolve(value, secrets) as T; // the shape stays the same: only strings change
}

function resolve(value: unknown, secrets: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') {
    if (!value.includes('${env:')) return value;
    return value.replaceAll(REFERENCE, (_, name: string) => {
      const secret = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
      if (secret !== undefined) return secret;
      throw new StudioError(
        'config',
        `This batch was submitted without a value for the environment variable ${name}.`,
        {
          hint: `Set ${name} and submit the batch again.`,
        },
      );
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

/** Resolves every reference in a submission, except in prompts and rubrics. Throws as `resolveEnv` does. */
export function resolveSubmission(submission: Submission, secrets: Readonly<Record<string, string>>): Submission {
  const { agent, mix, world, scorer } = submission;
  return {
    ...submission,
    agent: resolveAgent(agent, secrets),
    ...(world === undefined ? {} : { world: mapWorlds(world, (each) => resolveWorld(each, secrets)) }),
    scorer: resolveScorer(scorer, secrets),
    ...(mix === undefined ? {} : { mix: mix.map((part) => resolvePart(part, secrets)) }),
    ...(submission.notify === undefined ? {} : { notify: resolveEnv(submission.notify, secrets) }),
  };
}

function resolvePart(part: SubmittedPart, secrets: Readonly<Record<string, string>>): SubmittedPart {
  return part.sampling === undefined ? part : { ...part, sampling: resolveEnv(part.sampling, secrets) };
}

function resolveWorld(world: SubmittedWorld, secrets: Readonly<Record<string, string>>): SubmittedWorld {
  const { user, models } = world;
  return {
    ...world,
    ...(user === undefined ? {} : { user: { ...user, model: resolveEnv(user.model, secrets) } }),
    ...(models === undefined ? {} : { models: resolveEnv(models, secrets) }),
    ...(world.kind === 'simulated' ? resolveSimulated(world, secrets) : {}),
  };
}

function resolveSimulated(
  { model, real_tools: tools }: SubmittedSimulatedWorld,
  secrets: Readonly<Record<string, string>>,
): Pick<SubmittedSimulatedWorld, 'model' | 'real_tools'> {
  return {
    model: resolveEnv(model, secrets),
    ...(tools === undefined ? {} : { real_tools: resolveEnv(tools, secrets) }),
  };
}

function resolveScorer(scorer: SubmittedScorer, secrets: Readonly<Record<string, string>>): SubmittedScorer {
  switch (scorer.kind) {
    case 'judge':
      return { ...scorer, model: resolveEnv(scorer.model, secrets) };
    case 'module':
      return scorer.models === undefined ? scorer : { ...scorer, models: resolveEnv(scorer.models, secrets) };
    default:
      return scorer;
  }
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
