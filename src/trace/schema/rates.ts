import { z } from 'zod';

/** What a trajectory's own facts say about its world. */
export const RATES = ['controllability', 'error_handling', 'consistency'] as const;
export type Rate = (typeof RATES)[number];

/** Cases that can be decided, and those in which the world did what it must. */
const rateCount = z.object({ checked: z.number().int().min(0), held: z.number().int().min(0) });
export type RateCount = z.infer<typeof rateCount>;

export const rateCounts = z.partialRecord(z.enum(RATES), rateCount);
export type RateCounts = z.infer<typeof rateCounts>;
