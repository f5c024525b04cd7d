/** Measures how many calls fit in the context of a model that plays a world, before a batch is launched. */
import { z } from 'zod';
import { jsonOf } from '../../common/json.ts';
import { envNamesIn, resolveEnv } from '../../config/env.ts';
import { ASSUMED_TURN_TOKENS, type ContextMeter, contextMeter, measuredTurn } from '../../config/simulation/meter.ts';
import { estimatedTokens } from '../../config/simulation/text.ts';
import type { SubmittedModel, SubmittedSimulatedWorld } from '../../config/submission.ts';
import { systemPrompt } from '../../worlds/simulated/prompt.ts';

type Values = Readonly<Record<string, string | undefined>>;

/** An endpoint that does not answer in time only makes the meter less exact. */
const ASK_MS = 3_000;
/** Tokens that stay free for a reply without `max_tokens`. */
const REPLY_TOKENS = 4_096;
const MAX_REPLY_BYTES = 16 * 1024 * 1024;

const tokenized = z.object({ count: z.number().int().min(1), max_model_len: z.number().int().min(1).optional() });
const served = z.object({
  data: z.array(z.object({ id: z.string(), max_model_len: z.number().int().min(1).optional() })),
});

/**
 * Measures a world whose `${env:…}` are as written. `ask`: whether its endpoint counts the tokens, and says how long
 * its context is, as far as it can. Never throws for the endpoint.
 */
export async function measureWorld(
  world: SubmittedSimulatedWorld,
  env: Values,
  signal: AbortSignal,
  ask = true,
): Promise<ContextMeter> {
  const system = systemPrompt(world, world.texts);
  const { exact, context }: EndpointCounts = ask ? await countsOf(world.model, system, env, signal) : {};
  const turn = measuredTurn(world);
  return contextMeter(
    {
      context: world.context ?? context,
      system: exact ?? estimatedTokens(system),
      exact: exact !== undefined,
      turn: turn ?? ASSUMED_TURN_TOKENS,
      measured: turn !== undefined,
    },
    world.model.sampling.max_tokens ?? REPLY_TOKENS,
  );
}

/** What an endpoint says. */
interface EndpointCounts {
  /** Tokens of the system prompt. */
  readonly exact?: number;
  /** Tokens of the context. */
  readonly context?: number | undefined;
}

async function countsOf(
  model: SubmittedModel,
  system: string,
  env: Values,
  signal: AbortSignal,
): Promise<EndpointCounts> {
  const names = envNamesIn(JSON.stringify(model));
  const values = Object.fromEntries(names.map((name) => [name, env[name] ?? '']));
  if (Object.values(values).includes('')) return {};
  const { endpoints, name, api_key: key, headers } = resolveEnv(model, values);
  const [endpoint = ''] = endpoints;
  if (!/^https?:/.test(endpoint)) return {};
  const base = endpoint.replace(/\/+$/, '');
  const send = async (url: string, body?: object): Promise<unknown> => {
    const { outboundRequest } = await import('../../net/outboundRequest.ts'); // most worlds need no endpoint
    const response = await outboundRequest(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...headers,
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]),
    });
    if (response.ok) return jsonOf(await response.text(MAX_REPLY_BYTES));
    await response.drop();
    return undefined;
  };
  // It is no part of OpenAI's API: vLLM has it at the root.
  const messages = [{ role: 'system', content: system }];
  const count = tokenized.safeParse(
    await send(`${base.replace(/\/v1$/, '')}/tokenize`, { model: name, messages }).catch(() => undefined),
  ).data;
  if (count?.max_model_len !== undefined) return { exact: count.count, context: count.max_model_len };
  const models = served.safeParse(await send(`${base}/models`).catch(() => undefined)).data?.data;
  const context = models?.find(({ id }) => id === name)?.max_model_len;
  return { context, ...(count === undefined ? {} : { exact: count.count }) };
}
