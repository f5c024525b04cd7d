/** Rows of trainers whose shapes are taken from their documentation: SkyRL, slime, Atropos. */
import type { AttemptFormat, GroupFormat } from './format.ts';
import { logprobsOf, maskOf, originOf, rewardOf } from './tokenLines.ts';

const DOCUMENTED = 'the field map of its documentation; not loaded by its own code';

/** A line is one element of each list of SkyRL's GeneratorOutput. */
export const skyRl: AttemptFormat = {
  id: 'skyrl',
  title: 'Tokens: SkyRL',
  text: 'the elements of GeneratorOutput, a line for each segment',
  file: 'jsonl',
  per: 'attempt',
  needs: 'tokens',
  nullRules: ['drop_group', 'drop_row', 'mask', 'mean_of_group', 'error'],
  checked: DOCUMENTED,
  lines: (attempt) =>
    attempt.tokens.map(({ row }) => ({
      prompt_token_ids: [...row.prompt_ids],
      response_ids: [...row.response_ids],
      loss_masks: [...maskOf(attempt, row)],
      rollout_logprobs: [...logprobsOf(attempt, row)],
      rewards: rewardOf(attempt),
      stop_reasons: row.finish_reasons.at(-1) ?? 'stop',
      trajectory_ids: { instance_id: attempt.group.id, repetition_id: attempt.group.member },
      extra: originOf(attempt, row),
    })),
};

export const slime: AttemptFormat = {
  id: 'slime',
  title: 'Tokens: slime',
  text: 'Sample, a line for each segment; rows of a rollout share its rollout_id',
  file: 'jsonl',
  per: 'attempt',
  needs: 'tokens',
  nullRules: ['drop_row', 'drop_group', 'mask', 'mean_of_group', 'error'],
  checked: DOCUMENTED,
  lines: (attempt) =>
    attempt.tokens.map(({ row }) => ({
      group_index: attempt.group.index,
      index: attempt.group.member,
      rollout_id: row.rollout,
      tokens: [...row.prompt_ids, ...row.response_ids],
      response_length: row.response_ids.length,
      loss_mask: [...maskOf(attempt, row)],
      rollout_log_probs: [...logprobsOf(attempt, row)],
      reward: rewardOf(attempt),
      status: row.finish_reasons.at(-1) === 'length' || row.outcome === 'truncated' ? 'truncated' : 'completed',
      weight_versions: row.weights === undefined ? [] : [...row.weights],
      metadata: originOf(attempt, row),
    })),
};

/** Marks of Atropos for tokens that are not trained. */
const NO_MASK = -100;
const NO_LOGPROB = 1;

/** Atropos' ScoredData: one line is one group, as one POST is. */
export const atropos: GroupFormat = {
  id: 'atropos',
  title: 'Tokens: Atropos',
  text: 'ScoredData, a line for each group',
  file: 'jsonl',
  per: 'group',
  needs: 'tokens',
  nullRules: ['drop_row', 'drop_group', 'mask', 'mean_of_group', 'error'],
  checked: DOCUMENTED,
  lines: (attempts) => {
    const rows = attempts.flatMap((attempt) => attempt.tokens.map(({ row }) => ({ attempt, row })));
    if (rows.length === 0) return [];
    return [
      {
        tokens: rows.map(({ row }) => [...row.prompt_ids, ...row.response_ids]),
        masks: rows.map(({ attempt, row }) => [
          ...row.prompt_ids.map(() => NO_MASK),
          ...maskOf(attempt, row).map((one, index) => (one === 1 ? (row.response_ids[index] ?? NO_MASK) : NO_MASK)),
        ]),
        scores: rows.map(({ attempt }) => rewardOf(attempt)),
        inference_logprobs: rows.map(({ attempt, row }) => [
          ...row.prompt_ids.map(() => NO_LOGPROB),
          ...maskOf(attempt, row).map((one, index) => (one === 1 ? (row.response_logprobs[index] ?? 0) : NO_LOGPROB)),
        ]),
        group: rows[0]?.attempt.group.id ?? '',
        origins: rows.map(({ attempt, row }) => originOf(attempt, row)),
      },
    ];
  },
};
