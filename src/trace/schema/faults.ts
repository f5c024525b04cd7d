import { z } from 'zod';

const count = z.number().int().min(0);

/** What agents did after the faults of one rule: see `recovery.ts`. */
export const faultCounts = z.object({
  injected: count,
  recovered: count,
  worked_around: count,
  repeated: count,
  gave_up: count,
});
/** injected = recovered + worked around + repeated + gave up + open. */
export type FaultCounts = z.infer<typeof faultCounts>;
