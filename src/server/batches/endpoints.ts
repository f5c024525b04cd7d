/** The endpoints that the rollouts of a batch call. */
import { StudioError } from '../../common/errors.ts';
import { resolveEnv } from '../../config/env.ts';
import { isReplay } from '../../config/submission/replay.ts';
import { agentsOf, type Submission, type SubmittedModel, sideModelsOf } from '../../config/submission.ts';
import type { ControlledEndpoint } from '../endpoints/engines.ts';

interface BatchEndpoints {
  /** Those that decide how many rollouts run at once. */
  readonly agent: readonly string[];
  readonly others: readonly string[];
}

/**
 * Returns the endpoints. Where the replies of all agents are recorded, the models of the world decide how many rollouts
 * run at once.
 */
export function endpointsOf(submission: Submission, values: Readonly<Record<string, string>>): BatchEndpoints {
  const called = (models: readonly SubmittedModel[]): string[] =>
    resolved(
      models.flatMap(({ endpoints }) => endpoints.filter((endpoint) => !isReplay(endpoint))),
      values,
    );
  const members = called(agentsOf(submission).map(({ model }) => model));
  const sides = called(sideModelsOf(submission).map(({ model }) => model));
  const agent = members.length === 0 ? [...new Set(sides)] : called([submission.agent.model]);
  return { agent, others: [...new Set(members.filter((endpoint) => !agent.includes(endpoint))), ...sides] };
}

/** Returns the endpoints whose engines the server itself controls, and what opens them. */
export function controlledOf(submission: Submission, values: Readonly<Record<string, string>>): ControlledEndpoint[] {
  const models = [
    ...agentsOf(submission).map(({ model }) => model),
    ...sideModelsOf(submission).map(({ model }) => model),
  ];
  return models.flatMap(({ control = 'none', endpoints, api_key: key, headers }) => {
    if (control === 'none') return [];
    const [apiKey] = key === undefined ? [] : resolved([key], values);
    const names = Object.keys(headers);
    const texts = resolved(Object.values(headers), values);
    return resolved(endpoints, values).map((endpoint) => ({
      endpoint,
      headers: {
        ...Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ''])),
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
    }));
  });
}

/** Substitutes `${env:…}` in each text. A text whose value is missing (another server has it) is left unchanged. */
export function resolved(texts: readonly string[], values: Readonly<Record<string, string>>): string[] {
  return texts.map((text) => {
    try {
      return resolveEnv(text, values);
    } catch (error) {
      if (StudioError.is(error, 'config')) return text;
      throw error;
    }
  });
}
