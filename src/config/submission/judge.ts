import { z } from 'zod';
import { submittedModel } from './parts.ts';

/** What scorers of all kinds have. */
export const everyScorer = {
  /** Name of its verdicts. Default: by its kind. */
  name: z.string().optional(),
  /** Maximum duration of scoring a rollout. Absent: the default. */
  seconds: z.number().positive().optional(),
};

/** A model that grades by a rubric. */
export const submittedJudge = z.object({
  ...everyScorer,
  kind: z.literal('judge'),
  model: submittedModel,
  /** What is judged. Absent: the answer. */
  subject: z.literal('observation').optional(),
  /** Empty without one. */
  rubric: z.string(),
  pass: z.number(),
  /** The marks, each with what it is about; empty if its name says it. Absent: there is one score from 0 to 1. */
  parts: z.record(z.string(), z.string()).optional(),
  /** The lowest and the highest mark. */
  scale: z.tuple([z.number().int(), z.number().int()]).readonly().optional(),
});
export type SubmittedJudge = z.infer<typeof submittedJudge>;
