/** Classes and places of errors. Import them from `schema.ts`. */
import { z } from 'zod';
import { int } from './parts.ts';

export const ERROR_CLASSES = [
  'invalid_arguments',
  'unknown_tool',
  'tool_error',
  'world_error',
  'timeout',
  'cancelled',
  'limit',
  'model_error',
  'malformed_output',
  'context_overflow',
  'infrastructure',
] as const;
export const errorClass = z.enum(ERROR_CLASSES);
export type ErrorClass = z.infer<typeof errorClass>;

/** 1-based line and column. */
export const place = z.object({ file: z.string(), line: int.min(1), column: int.min(1) });
export type Place = z.infer<typeof place>;

/** What a limit bounds; `condition`: the `stop.rollout` of the batch. */
export const limitKind = z.enum(['steps', 'seconds', 'tokens', 'condition']);
export type LimitKind = z.infer<typeof limitKind>;

export const traceError = z.object({
  class: errorClass,
  message: z.string(),
  /** Of class `limit`: which one. */
  limit: limitKind.optional(),
  stack: z.string().optional(),
  place: place.optional(),
  /** The world failed: its code threw, ran too long, or took too much. It did not merely refuse the call. */
  blame: z.literal('world').optional(),
});
export type TraceError = z.infer<typeof traceError>;
