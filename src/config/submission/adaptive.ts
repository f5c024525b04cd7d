import { z } from 'zod';

/** What a task gets further attempts for: both outcomes, or a pass. */
export const UNTIL = ['informative', 'solved'] as const;

/** How many attempts a task starts with, and until when it gets more. */
export const adaptive = z.object({ least: z.number().int().min(1), until: z.enum(UNTIL) });
