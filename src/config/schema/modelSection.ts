/** `model:` of agents, judges and simulated users. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { amount, duration, expects, flag, listOf, number, text } from './values.ts';

const endpoint = text('http://localhost:8000/v1', 'the URL of an OpenAI-compatible endpoint, or a list of them');

const perMillion = (example: number): z.ZodNumber =>
  number({ min: 0, what: 'a price per million tokens, 0 or more', example });

export const modelSection = z.strictObject({
  endpoint: z
    .union(
      [
        endpoint,
        listOf(endpoint, 'a list of URLs', '[http://gpu-1:8000/v1]').min(
          1,
          expects('a list of at least one URL', '[http://gpu-1:8000/v1]'),
        ),
      ],
      endpointExpected(),
    )
    .describe(
      'Any OpenAI-compatible `/v1` endpoint, e.g. of vLLM (its `/metrics` is asked at the root), or a list of ' +
        'replicas; in a cluster a headless Service of its namespace, whose pods are found. `demo:` is the embedded ' +
        'offline model. `${env:NAME}` is put in where a batch is submitted.',
    ),
  name: text('Qwen/Qwen3-32B').describe('The model, by the name the endpoint knows it under.'),
  api_key: text('${env:API_KEY}')
    .optional()
    .describe('What the endpoint asks for as a bearer token. Never the key itself: `${env:NAME}`.'),
  headers: z
    .record(z.string(), text('${env:TEAM_HEADER}'))
    .default({})
    .describe('Further HTTP headers of every request. Secrets in them by `${env:NAME}`.'),
  sampling: z
    .strictObject({
      temperature: number({ min: 0, what: 'a number, 0 or more', example: 1 })
        .optional()
        .describe(
          '0 takes the likeliest token; 1 samples from the model as it is. Absent: what the endpoint does by itself.',
        ),
      top_p: number({ min: 0, max: 1, what: 'a number from 0 to 1', example: 0.95 })
        .optional()
        .describe('Samples only from the likeliest tokens that together have this probability.'),
      max_tokens: amount('4096').optional().describe('Most tokens of one reply.'),
      stop: listOf(text('"</answer>"'), 'a list of texts', '["</answer>"]')
        .optional()
        .describe('Texts that end a reply when the model writes them.'),
      extra: z
        .record(z.string(), z.unknown())
        .optional()
        .describe('Further members of the request, sent to the endpoint as they are, e.g. `top_k` for vLLM.'),
    })
    .prefault({})
    .describe('How tokens are chosen.'),
  capture: z
    .strictObject({
      token_ids: flag
        .default(DEFAULTS.capture.token_ids)
        .describe(
          'Records the token ids the engine sampled: what a trainer needs. Ignored with a warning where the ' +
            'endpoint does not give them.',
        ),
      logprobs: flag
        .default(DEFAULTS.capture.logprobs)
        .describe(
          'Records the log probability of each sampled token. Ignored with a warning where the endpoint does not ' +
            'give them.',
        ),
    })
    .prefault({})
    .describe('What is recorded of each reply beside its text.'),
  price: z
    .strictObject({
      input: perMillion(0.1).describe('Per million tokens read.'),
      output: perMillion(0.4).describe('Per million tokens written.'),
      cached: perMillion(0.05).optional().describe('Per million tokens read from the cache. Absent: as `input`.'),
    })
    .optional()
    .describe('What tokens cost. Without it no cost is shown.'),
  endpoint_wait: duration('10 min')
    .prefault(DEFAULTS.endpoint_wait)
    .describe(
      'How long one call waits for an endpoint that does not answer before its try is given up and started anew.',
    ),
});
export type ModelSection = z.output<typeof modelSection>;

function endpointExpected(): { error: string } {
  return expects('the URL of an OpenAI-compatible endpoint, or a list of them', 'http://localhost:8000/v1');
}
