/**
 * The format of a file with recorded calls, from which a recorded world answers. JSON Lines: one line for each attempt,
 * and a last line with the index of the others, so that a worker reads only the attempts of the tasks that it runs.
 */
import { z } from 'zod';
import type { JsonObject } from '../../common/json.ts';
import { int, json, part, sha } from '../schema/parts.ts';
import { errorClass } from '../schema.ts';

const object = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>; // from JSON.parse

/** What the world answered. */
export const recordedAnswer = z.object({
  /** The response for the model. */
  response: json,
  /** Images and links that belong to it. */
  parts: z.array(part).optional(),
  /** The call failed; `response` is what the agent saw of it. */
  error: z.object({ class: errorClass, message: z.string() }).optional(),
});
export type RecordedAnswer = z.infer<typeof recordedAnswer>;

const recordedCall = z.object({
  /** seq of its start in its rollout. */
  seq: int.min(1),
  name: z.string(),
  /** As they were called, with edits. */
  arguments: json,
  /** Its tool changes nothing. */
  pure: z.literal(true).optional(),
  answer: recordedAnswer.optional(),
  /** Or a blob that has it, because it is long, and the hash of the response. With neither, the answer was lost. */
  long: z.object({ blob: sha, response: sha }).optional(),
});
export type RecordedCall = z.infer<typeof recordedCall>;

export const recordedAttempt = z.object({
  task: z.string(),
  question: z.string(),
  rollout: z.string(),
  calls: z.array(recordedCall),
});
export type RecordedAttempt = z.infer<typeof recordedAttempt>;

export const recordedTool = z.object({
  name: z.string(),
  description: z.string(),
  parameters: object,
  /** All of its recorded calls changed nothing. */
  pure: z.literal(true).optional(),
});
export type RecordedTool = z.infer<typeof recordedTool>;

export const recordedIndex = z.object({
  recorded_calls: z.literal(1),
  tools: z.array(recordedTool),
  /** Long answers. */
  blobs: z.array(sha),
  attempts: z.array(
    z.object({
      task: z.string(),
      question: z.string(),
      rollout: z.string(),
      calls: int.min(0),
      /** Where its line is, in bytes. */
      offset: int.min(0),
      bytes: int.min(0),
    }),
  ),
});
export type RecordedIndex = z.infer<typeof recordedIndex>;
