/** What formats of tokens share. */
import type { JsonObject } from '../../common/json.ts';
import type { TrainingRow } from '../../trace/segments/trainingRows.ts';
import type { TrainingAttempt } from './format.ts';

/** Returns the mask of a segment: all 0 if nothing of its attempt is trained. */
export function maskOf({ masked }: TrainingAttempt, { response_mask: mask }: TrainingRow): readonly number[] {
  return masked ? mask.map(() => 0) : mask;
}

/** Returns the logarithms of a segment: all 0 if nothing of its attempt is trained. */
export function logprobsOf(
  { masked }: TrainingAttempt,
  { response_logprobs: logprobs }: TrainingRow,
): readonly number[] {
  return masked ? logprobs.map(() => 0) : logprobs;
}

/** Returns the reward, which the rule for null rewards of the format made a number. */
export function rewardOf({ reward, row }: TrainingAttempt): number {
  // The rules of formats that call this leave no null.
  if (reward === null) throw new TypeError(`${row.rollout} has no reward`);
  return reward;
}

/** Returns where a segment comes from, for fields that trainers pass on without reading them. */
export function originOf(attempt: Pick<TrainingAttempt, 'imputed'>, row: TrainingRow): JsonObject {
  const { batch, group, task, rollout, attempt: number, agent, segment, segments, weights, outcome } = row;
  return {
    ...{ batch, group, task, rollout, attempt: number, agent, segment, segments, outcome },
    ...(weights === undefined ? {} : { weights: [...weights] }),
    finish_reasons: [...row.finish_reasons],
    ...(attempt.imputed ? { reward_imputed: true } : {}),
  };
}

/** Returns the version of the weights as an integer: the newest that sampled the segment; -1 if it is unknown. */
export function versionOf({ weights }: TrainingRow): number {
  const version = Number(weights?.[1]);
  return Number.isSafeInteger(version) ? version : -1;
}
