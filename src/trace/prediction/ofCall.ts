/** Predictions of a recorded call. */
import type { ToolSpan } from '../model/spans.ts';
import type { TrajectoryModel } from '../model.ts';
import type { EventData, EventOf } from '../schema.ts';
import { isObserved } from '../undone.ts';

/** Returns the recorded predictions of a call: scores that compare one with what the agent saw. */
export function predictionsOf(model: TrajectoryModel, seq: number): readonly EventOf<'score'>[] {
  return model.scoresOf(seq).filter(({ data }) => data.prediction !== undefined);
}

/** Returns the other scores of a call. */
export function otherScoresOf(model: TrajectoryModel, seq: number): readonly EventOf<'score'>[] {
  return model.scoresOf(seq).filter(({ data }) => data.prediction === undefined);
}

/** Whether a prediction disagrees in what it could have known: the status, the keys, or deterministic values. */
export function isPredictedOtherwise({ prediction, parts = {} }: EventData['score']): boolean {
  const shares = [parts['status'], parts['keys'], parts['deterministic']];
  return prediction !== undefined && shares.some((share) => share !== undefined && share < 1);
}

/** Whether a recorded prediction of a call was wrong in what it could have known. */
export function wasPredictedOtherwise(model: TrajectoryModel, seq: number): boolean {
  return predictionsOf(model, seq).some(({ data }) => isPredictedOtherwise(data));
}

/**
 * Returns the calls that ended before one, or with `undefined` all that have ended, in order. Calls of a world run one
 * at a time: one of the same turn that ended before this one also ran before it.
 */
export function callsBefore(model: TrajectoryModel, call: ToolSpan | undefined): ToolSpan[] {
  const until = call?.end?.seq ?? model.last + 1;
  return model.tools
    .filter((one) => one !== call && (one.end?.seq ?? until) < until && isObserved(one.end?.data))
    .sort((a, b) => (a.end?.seq ?? 0) - (b.end?.seq ?? 0));
}
