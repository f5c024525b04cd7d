import type { Json } from '../../common/json.ts';
import { seenResponse } from '../model/seenResponse.ts';
import type { ToolSpan } from '../model/spans.ts';
import type { TrajectoryModel } from '../model.ts';
import { unescapeKeys } from '../values/keys.ts';
import { type PredictionDifference, predictionDifference, SeenValues } from './difference.ts';

/**
 * Returns the difference of a prediction and the response that the agent got for a recorded call, after all calls of
 * the trajectory that ended before; undefined while the call is open. Of responses that are stored as blobs it knows
 * only the beginning.
 */
export function callDifference(
  model: TrajectoryModel,
  span: ToolSpan,
  predicted: Json,
): PredictionDifference | undefined {
  const { end } = span;
  const real = seenResponse(model, span);
  if (end === undefined || real === undefined) return undefined;
  const seen = new SeenValues();
  for (const earlier of model.tools) {
    if (earlier.end === undefined || earlier.end.seq >= end.seq) continue;
    seen.addArguments(unescapeKeys(model.argumentsOf(earlier).value));
    const response = seenResponse(model, earlier);
    if (response !== undefined) seen.addResponse(unescapeKeys(response));
  }
  const args = unescapeKeys(model.argumentsOf(span).value);
  return predictionDifference(
    { response: unescapeKeys(predicted) },
    { response: unescapeKeys(real), error: end.data.error?.class },
    args,
    seen,
  );
}
