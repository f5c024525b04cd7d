/** Custom events of debug sessions. */
import { z } from 'zod';

export const moved = z.object({ rollout: z.string(), seq: z.number().int() });
export type MovedEvent = z.infer<typeof moved>;

export const forked = z.object({ batch: z.string() });
