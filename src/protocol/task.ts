import { z } from 'zod';
import type { Json, JsonObject } from '../common/json.ts';
import type { TaskRecord } from '../trace/task.ts';

/** A task as sent to servers and stored. */
export const taskRecord: z.ZodType<TaskRecord> = z.object({
  id: z.string().min(1),
  of: z.string().optional(),
  question: z.string(),
  answer: (z.unknown() as unknown as z.ZodType<Json>).optional(),
  files: z.array(z.object({ name: z.string(), sha: z.string(), bytes: z.number().int() })).optional(),
  level: z.union([z.string(), z.number()]).optional(),
  messages: z.object({ sha: z.string(), bytes: z.number().int(), count: z.number().int() }).optional(),
  world: z
    .object({
      scenario: z.string().optional(),
      seed: z.number().int().optional(),
      state: (z.unknown() as unknown as z.ZodType<Json>).optional(),
    })
    .optional(),
  meta: z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>,
}) as unknown as z.ZodType<TaskRecord>;
