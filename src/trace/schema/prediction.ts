import { z } from 'zod';
import { json } from './parts.ts';

/**
 * What a world predicted for a tool call. It is part of the call's score, whose parts say how far it agrees with what
 * the agent saw.
 */
export const prediction = z.object({
  /** Name of the world that predicted. */
  world: z.string(),
  /**
   * `shadow`: next to a rollout. `forced`: over a recording, after what was really seen before. `free`: over a
   * recording, after what the world itself answered before.
   */
  how: z.enum(['shadow', 'forced', 'free']),
  /** The response that the agent would have got. Absent if the world gave none; the score's `error` says why. */
  response: json.optional(),
});
export type Prediction = z.infer<typeof prediction>;

export const PREDICTION_PARTS = ['status', 'keys', 'deterministic', 'existing', 'runtime'] as const;
export type PredictionPart = (typeof PREDICTION_PARTS)[number];

/** The marks that a judge gives a prediction, on a scale from 1 to 5: parts of its score. */
export const WORLD_MARKS = ['format', 'factuality', 'consistency', 'realism', 'quality'] as const;
export type WorldMark = (typeof WORLD_MARKS)[number];

const count = z.number().int().min(0);

/** Sums over the predicted calls of a tool, from which means follow: see `prediction/statistics.ts`. */
export const predictionSums = z.object({
  /** Predicted calls, with those that failed. */
  calls: count,
  /** Calls without a value. */
  failed: count,
  /** Calls in which it got everything right that it could know: see `prediction/fidelity.ts`. */
  right: count,
  /** Sum of the values. */
  value: z.number().min(0),
  /** Sums of the shares, and the calls that have them. */
  parts: z.partialRecord(z.enum(PREDICTION_PARTS), z.object({ calls: count, sum: z.number().min(0) })),
});
export type PredictionSums = z.infer<typeof predictionSums>;

/** By tool. */
export const predictedTools = z.record(z.string(), predictionSums);
export type PredictedTools = z.infer<typeof predictedTools>;
