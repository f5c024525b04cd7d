/** Token groups: a line for each segment with all that is known of it. */
import type { Json, JsonObject } from '../../common/json.ts';
import type { AttemptFormat, TrainingAttempt } from './format.ts';
import { logprobsOf, maskOf } from './tokenLines.ts';

function lines(attempt: TrainingAttempt): readonly JsonObject[] {
  return attempt.tokens.map(({ row }) => {
    const { imputed, masked, reward } = attempt;
    if (!imputed && !masked) return row as unknown as JsonObject; // all of it is JSON
    return {
      ...row,
      response_mask: maskOf(attempt, row),
      response_logprobs: logprobsOf(attempt, row),
      reward,
      reward_imputed: true,
    } as unknown as JsonObject;
  });
}

const FACTS = {
  per: 'attempt',
  needs: 'tokens',
  checked: 'its own format; docs/guide/train.md lists the fields',
  lines,
} as const;

export const groups: AttemptFormat = {
  ...FACTS,
  id: 'groups',
  title: 'Token groups, JSON Lines',
  text: 'a line for each segment: token IDs, mask, log probabilities, reward, and where it comes from',
  file: 'jsonl',
  nullRules: ['keep', 'drop_row', 'drop_group', 'mask', 'mean_of_group', 'error'],
};

export const groupsParquet: AttemptFormat = {
  ...FACTS,
  id: 'parquet',
  title: 'Token groups, Parquet',
  text: 'the same as groups, in columns: lists of int32 and float32; nested fields as JSON text',
  file: 'parquet',
  nullRules: ['keep', 'drop_row', 'drop_group', 'mask', 'mean_of_group', 'error'],
};

/** The columns of the Parquet file, in order. Types are those of `Column`. */
export const GROUP_COLUMNS = [
  ['schema', 'int32'],
  ['batch', 'text'],
  ['group', 'text'],
  ['task', 'text'],
  ['rollout', 'text'],
  ['attempt', 'int32'],
  ['try', 'int32'],
  ['part', 'text'],
  ['agent', 'text'],
  ['segment', 'int32'],
  ['segments', 'int32'],
  ['prompt_ids', 'int32[]'],
  ['response_ids', 'int32[]'],
  ['response_mask', 'int32[]'],
  ['response_logprobs', 'float32[]'],
  ['reward', 'float64'],
  ['reward_imputed', 'boolean'],
  ['outcome', 'text'],
  ['why_excluded', 'text'],
  ['weights', 'json'],
  ['calls', 'json'],
  ['split', 'json'],
  ['reward_parts', 'json'],
  ['verdicts', 'json'],
  ['sampling', 'json'],
  ['finish_reasons', 'json'],
  ['results', 'json'],
  ['ms', 'json'],
] as const satisfies readonly (readonly [string, Column])[];
export type Column = 'int32' | 'float64' | 'boolean' | 'text' | 'json' | 'int32[]' | 'float32[]';

/** Returns the value of a cell, as the column stores it; null if the line has none. */
export function cellOf(line: JsonObject, [name, type]: readonly [string, Column]): Json {
  const value = line[name];
  if (value === undefined || value === null) return null;
  return type === 'json' ? JSON.stringify(value) : value;
}
