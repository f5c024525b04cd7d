/** Custom events of debug sessions. */
import { z } from 'zod';

export const placeEvent = z.object({ rollout: z.string(), seq: z.number().int() });
export type PlaceEvent = z.infer<typeof placeEvent>;

export const forkedEvent = z.object({ batch: z.string() });
