/** How tokens are sampled: of a model, and of a part of a batch's mix. */
import { z } from 'zod';
import { amount, listOf, number, text } from './values.ts';

export const samplingSection = z.strictObject({
  temperature: number({ min: 0, what: 'a number, 0 or more', example: 1 })
    .optional()
    .describe(
      '0 always picks the most likely token; 1 samples from the unmodified distribution. Default: set by the ' +
        'endpoint.',
    ),
  top_p: number({ min: 0, max: 1, what: 'a number from 0 to 1', example: 0.95 })
    .optional()
    .describe('Samples only from the most likely tokens that together have this probability.'),
  max_tokens: amount('4096').optional().describe('Maximum number of tokens per reply.'),
  stop: listOf(text('"</answer>"'), 'a list of texts', '["</answer>"]')
    .optional()
    .describe('Strings that end the reply when the model generates them.'),
  extra: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Additional request parameters, sent to the endpoint unchanged, e.g. `top_k` for vLLM.'),
});
