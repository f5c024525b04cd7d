/** A batch that replays recorded rollouts: its agents say what was recorded, and its world answers as recorded. */
import { z } from 'zod';
import { sha } from './parts.ts';

/** The endpoint of models whose replies are those of the task's recording. */
export const REPLAY_ENDPOINT = 'replay:';

export function isReplay(endpoint: string): boolean {
  return endpoint === REPLAY_ENDPOINT;
}

/** The recorded rollout that a task replays. */
const replayedRollout = z.object({
  /** Its `Recording`. */
  recording: sha,
  rollout: z.string(),
  batch: z.string(),
  task: z.string(),
  attempt: z.number().int().min(1),
  /** What its task is about, if the tasks differ in that: fidelity is reported for each. */
  domain: z.string().optional(),
});
export type ReplayedRollout = z.infer<typeof replayedRollout>;

export const replayKeys = {
  /** By task. */
  recordings: z.record(z.string(), replayedRollout),
} as const;
