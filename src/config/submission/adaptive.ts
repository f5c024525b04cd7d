import { z } from 'zod';
import { UNTIL } from '../schema/attemptsSection.ts';

/** How many attempts a task starts with, and until when it gets more. */
export const adaptive = z.object({ least: z.number().int().min(1), until: z.enum(UNTIL) });
