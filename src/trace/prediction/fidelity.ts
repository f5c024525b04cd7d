/** What the predictions of a rollout come to. */
import type { EventData } from '../schema.ts';

/** The score of a predicted call, without texts. */
export type CallScore = Pick<EventData['score'], 'value' | 'parts'>;

/** The parts of which a prediction must get everything right: the rest can only be plausible. */
const EXACT = ['status', 'keys', 'deterministic'] as const;

/** Returns whether a prediction agrees with the response in everything that it could know. */
export function isRight({ parts = {} }: CallScore): boolean {
  return parts['status'] !== undefined && EXACT.every((part) => (parts[part] ?? 1) === 1);
}

/** Classes of errors of a prediction, the worst first. */
export const PREDICTION_FAULTS = ['none', 'status', 'keys', 'deterministic', 'existing', 'runtime'] as const;
export type PredictionFault = (typeof PREDICTION_FAULTS)[number];

/** Returns the worst thing that is wrong with a prediction; `none`: the world gave none; undefined: nothing. */
export function faultOf({ parts = {} }: CallScore): PredictionFault | undefined {
  if (parts['status'] === undefined) return 'none';
  return PREDICTION_FAULTS.find((fault) => fault !== 'none' && (parts[fault] ?? 1) < 1);
}
