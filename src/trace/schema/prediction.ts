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

/** The marks that a judge gives a prediction, on a scale from 1 to 5: parts of its score. */
export const WORLD_MARKS = ['format', 'factuality', 'consistency', 'realism', 'quality'] as const;
export type WorldMark = (typeof WORLD_MARKS)[number];
