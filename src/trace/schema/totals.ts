/** What a rollout used. Import it from `schema.ts`. */
import { z } from 'zod';
import { int } from './parts.ts';

/** Calls of side models, and the tokens that they used. */
export const sideUsage = z.object({
  calls: int.min(0),
  input_tokens: int.min(0),
  output_tokens: int.min(0),
  cached_tokens: int.min(0),
  cost: z.number().optional(),
});
export type SideUsage = z.infer<typeof sideUsage>;

export const totals = z.object({
  steps: int.min(0),
  tool_calls: int.min(0),
  input_tokens: int.min(0),
  output_tokens: int.min(0),
  cached_tokens: int.min(0),
  /** Wall time of the rollout without holds. */
  ms: z.number().min(0),
  held_ms: z.number().min(0),
  cost: z.number().optional(),
  /** Of the side models. The other totals are those of the agents alone. */
  side: sideUsage.optional(),
});
export type Totals = z.infer<typeof totals>;
