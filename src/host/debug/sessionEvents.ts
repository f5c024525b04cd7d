/** What a session of the debugger tells beside its protocol. */
import { z } from 'zod';

export const moved = z.object({ rollout: z.string(), seq: z.number().int() });
export type MovedEvent = z.infer<typeof moved>;

export const forked = z.object({ batch: z.string() });
