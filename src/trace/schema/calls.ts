/** How the calls of agents ended. Import it from `schema.ts`. */
import { z } from 'zod';

const count = z.number().int().min(0);
/** The first 32 bits of the hash of arguments. */
const hashes = z.array(
  z
    .number()
    .int()
    .min(0)
    .max(2 ** 32 - 1),
);

/** Calls of a tool. Calls with valid arguments are listed by the hash of their arguments. See `toolCalls/rated.ts`. */
export const calledTool = z.object({
  succeeded: hashes.optional(),
  failed: hashes.optional(),
  /** Calls that were refused for their form. */
  invalid: count.optional(),
  /** Further calls with valid arguments, in a rollout with very many. */
  more: z.object({ succeeded: count, failed: count }).optional(),
});

export type CalledTool = z.infer<typeof calledTool>;

/** By tool; calls of unknown tools have the empty name. */
export const calledTools = z.record(z.string(), calledTool);
export type CalledTools = z.infer<typeof calledTools>;
