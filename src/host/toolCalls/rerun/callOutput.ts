/** Schemas of the `rollout call` output: a recorded call, its tool, and a repeated call. */
import { z } from 'zod';
import type { Json, JsonObject } from '../../../common/json.ts';
import { effect, type TraceError, traceError } from '../../../trace/schema.ts';
import { errorText, valueText } from '../../../trace/text/values.ts';

const json = z.unknown() as unknown as z.ZodType<Json>;
const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;
const module = z.object({ file: z.string(), path: z.string().optional() });

/** Identifies a call. Serializable, because links contain it. */
export const callPlace = z.object({ rollout: z.string(), seq: z.number().int().min(1) });
export type CallPlace = z.infer<typeof callPlace>;

const recordedCall = z.object({
  rollout: z.string(),
  seq: z.number().int(),
  step: z.number().int(),
  name: z.string(),
  task: z.object({ id: z.string() }).loose(),
  arguments: json,
  result: json.optional(),
  error: traceError.optional(),
  ms: z.number().optional(),
  seed: z.number().int(),
  world: z
    .object({ seed: z.number().int(), before: z.array(z.object({ name: z.string(), arguments: json, effect })) })
    .optional(),
});

export const describedCall = recordedCall.extend({
  parameters: jsonObject,
  description: z.string(),
  effect,
  of_world: z.boolean(),
  modules: z.object({ tools: z.array(module), world: module.optional() }),
});
export type DescribedCall = z.infer<typeof describedCall>;

export const rerunCall = z.object({
  status: z.enum(['ok', 'error']),
  result: json.optional(),
  error: traceError.optional(),
  ms: z.number(),
  log: z.string(),
  same: z.boolean().nullable(),
  arguments: json,
  changed: z.array(z.string()),
  notes: z.array(z.string()),
});
export type RerunCall = z.infer<typeof rerunCall>;

/** Renders a result as JSON or text, or an error with its stack. */
export function outcomeText({
  result,
  error,
}: {
  readonly result?: Json | undefined;
  readonly error?: TraceError | undefined;
}): string {
  if (error !== undefined)
    return [`✗ ${errorText(error)}`, ...(error.stack?.split('\n').slice(1) ?? []), ''].join('\n');
  return `${result === undefined ? 'nothing' : valueText(result, true)}\n`;
}
