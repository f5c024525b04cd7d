/** Schemas of `model:` for agents, judges, and simulated users, and of `models:` for what users' code may ask. */
import { z } from 'zod';
import { CONTROLLED_ENGINES, DEFAULTS, STREAMING } from '../defaults.ts';
import { samplingSection } from './samplingSection.ts';
import { choice, duration, expects, fault, flag, listOf, number, text } from './values.ts';

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
      'An OpenAI-compatible `/v1` endpoint, e.g. of vLLM (whose `/metrics` are read at the root), or a list of ' +
        'replicas. In a cluster, also a headless Service in its namespace, whose pods are discovered. `target:` is ' +
        'the installed model of that name, `demo:` the built-in offline model. `${env:NAME}` is resolved where the ' +
        'batch is submitted.',
    ),
  name: text('Qwen/Qwen3-32B').describe('Name of the model at the endpoint.'),
  api_key: text('${env:API_KEY}')
    .optional()
    .describe('API key, sent as a bearer token. Write `${env:NAME}`, never the key itself.'),
  headers: z
    .record(z.string(), text('${env:TEAM_HEADER}'))
    .default({})
    .describe('Additional HTTP headers of every request. Write secrets as `${env:NAME}`.'),
  session_header: text('x-session-id', 'the name of a header')
    .regex(/^[\w!#$%&'*+.^`|~-]+$/, expects('the name of a header', 'x-session-id'))
    .optional()
    .describe(
      'Header with a value that all calls of a task share, by which a router in front of replicas sends them to the ' +
        'same one, where their beginning is cached.',
    ),
  sampling: samplingSection.prefault({}).describe('Sampling parameters.'),
  capture: z
    .strictObject({
      token_ids: flag
        .default(DEFAULTS.capture.token_ids)
        .describe(
          'Records the sampled token IDs, which trainers need. Ignored with a warning if the endpoint does not ' +
            'return them.',
        ),
      logprobs: flag
        .default(DEFAULTS.capture.logprobs)
        .describe(
          'Records the log probability of each sampled token. Ignored with a warning if the endpoint does not ' +
            'return them.',
        ),
    })
    .prefault({})
    .describe('What to record of each reply in addition to its text.'),
  stream: choice(STREAMING)
    .default(DEFAULTS.stream)
    .describe(
      'When replies are streamed. `auto`: only while somebody watches the rollout, or if a whole reply took too ' +
        'long, because reading a reply piece by piece costs a worker most of its time; `always`; `never`. The ' +
        'trajectory is the same, except for the time of the first token.',
    ),
  control: choice(CONTROLLED_ENGINES)
    .default(DEFAULTS.control)
    .describe(
      'The engine that the server itself pauses, tells the version of its weights, and resumes, when a trainer ' +
        'announces that. `vllm` needs `VLLM_SERVER_DEV_MODE=1` in the environment of the engine, which opens its ' +
        'control to whoever reaches it.',
    ),
  price: z
    .strictObject({
      input: perMillion(0.1).describe('Price per million input tokens.'),
      output: perMillion(0.4).describe('Price per million output tokens.'),
      cached: perMillion(0.05).optional().describe('Price per million cached input tokens. Default: same as `input`.'),
    })
    .optional()
    .describe('Prices of tokens. Without them, no cost is shown.'),
  endpoint_wait: duration('10 min')
    .prefault(DEFAULTS.endpoint_wait)
    .describe(
      'How long a call waits for an endpoint that does not respond before the attempt is given up and retried.',
    ),
});
export type ModelSection = z.output<typeof modelSection>;

/** Side models that have these names in trajectories are not asked by users' code. */
const TAKEN = new Set(['user', 'world', 'shadow', 'lookahead']);

/** Models by the names by which code asks them. */
export const askedModels = z
  .record(z.string(), modelSection, expects('models by name', '{ judge: { endpoint: …, name: … } }'))
  .superRefine((models, context) => {
    for (const name of Object.keys(models)) {
      if (!/^[A-Za-z_][\w-]{0,63}$/.test(name))
        fault(
          context,
          `\`${name}\` is not a valid name of a model`,
          'Use letters, digits, `_`, and `-`, at most 64, starting with a letter.',
          { path: [name] },
        );
      else if (TAKEN.has(name))
        fault(context, `\`${name}\` is already the name of another side model`, 'Choose another name, e.g. `judge`.', {
          path: [name],
          code: 'conflict',
        });
    }
  });

function endpointExpected(): { error: string } {
  return expects('the URL of an OpenAI-compatible endpoint, or a list of them', 'http://localhost:8000/v1');
}
