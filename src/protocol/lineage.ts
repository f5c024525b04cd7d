import { z } from 'zod';

/** The rollouts whose events 1..to a stream starts with, oldest ancestor first. */
export const lineage = z.array(z.object({ rollout: z.string(), to: z.number().int().min(0) }));
export type Lineage = z.infer<typeof lineage>;
