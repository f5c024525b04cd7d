import { z } from 'zod';
import { json } from './parts.ts';

/** An edit that a fork starts with. */
export const forkEdit = z.object({
  of: z.object({ seq: z.number().int().optional(), m: z.number().int().optional() }),
  path: z.string(),
  value: json,
});
export type ForkEdit = z.infer<typeof forkEdit>;
