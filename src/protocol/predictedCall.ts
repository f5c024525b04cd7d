/** Predictions of calls that a person asked for. Nothing of them is recorded. */
import { z } from 'zod';
import type { Json } from '../common/json.ts';
import { traceError, usage } from '../trace/schema.ts';

const json = z.unknown() as unknown as z.ZodType<Json>; // it is read from JSON

/** What `rollout call --predict` reports. */
export const predictedCall = z.object({
  rollout: z.string(),
  /** seq of the call's start. */
  seq: z.number().int(),
  tool: z.string(),
  arguments: json,
  /** Whether these are not the arguments of the call, so that there is nothing to compare. */
  edited: z.literal(true).optional(),
  /** The world that predicts, and its model. Absent for a world that answers from recordings. */
  world: z.object({ name: z.string(), file: z.string(), model: z.string().optional() }),
  /** How many earlier calls the world was told. */
  before: z.number().int(),
  /** What the agent would get. Absent if the world failed; then `error` says why. */
  prediction: json.optional(),
  error: traceError.optional(),
  /** What the world's model thought before its last reply. */
  thinking: z.string().optional(),
  /** What the agent got. Absent for a call that has not ended, or whose result was not recorded. */
  real: json.optional(),
  /** Model calls, and the tokens of those that reported them. */
  asked: z.number().int(),
  usage: usage.optional(),
  ms: z.number(),
});
export type PredictedCall = z.infer<typeof predictedCall>;

/** The newest prediction of a call in a window of the editor, which forgets it when it closes. */
export const windowPrediction = z.object({
  rollout: z.string(),
  seq: z.number().int(),
  /** The world file, as the window names it. */
  world: z.string(),
  state: z.discriminatedUnion('is', [
    z.object({ is: z.literal('asking'), since: z.number() }),
    /** The world could not be asked. */
    z.object({ is: z.literal('failed'), message: z.string(), hint: z.string().optional() }),
    z.object({ is: z.literal('done'), call: predictedCall }),
  ]),
});
export type WindowPrediction = z.infer<typeof windowPrediction>;
