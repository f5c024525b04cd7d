/** What a `rollout_func` of TRL returns, one line for each segment, and the samples of its asynchronous trainer. */

import { mean, spread } from '../../trace/groups/spread.ts';
import { templateMessage } from './chatText.ts';
import type { AttemptFormat } from './format.ts';
import { logprobsOf, maskOf, originOf, rewardOf, versionOf } from './tokenLines.ts';

export const trl: AttemptFormat = {
  id: 'trl',
  title: 'Tokens: TRL, rollout_func',
  text: 'prompt_ids, completion_ids, logprobs, env_mask, and reward, a line for each segment',
  file: 'jsonl',
  per: 'attempt',
  needs: 'tokens',
  nullRules: ['drop_row', 'drop_group', 'mask', 'mean_of_group', 'error'],
  checked: 'trl 1.16.0: trl/trainer/grpo_trainer.py',
  lines: (attempt) =>
    attempt.tokens.map(({ row }) => ({
      prompt_ids: [...row.prompt_ids],
      completion_ids: [...row.response_ids],
      logprobs: [...logprobsOf(attempt, row)],
      env_mask: [...maskOf(attempt, row)],
      // Passed on to reward functions.
      reward: rewardOf(attempt),
      ...originOf(attempt, row),
    })),
};

/** As in `_score_group` of the trainer. */
const EPSILON = 1e-8;

export const trlAsync: AttemptFormat = {
  id: 'trl-async',
  title: 'Tokens: TRL, asynchronous GRPO',
  text: 'RolloutSample, a line for each segment, with the advantage of its rollout in its group',
  file: 'jsonl',
  per: 'attempt',
  needs: 'tokens and messages',
  nullRules: ['drop_row', 'drop_group', 'mask', 'mean_of_group', 'error'],
  checked: 'trl 1.16.0: trl/experimental/async_grpo/async_rollout_worker.py',
  lines: (attempt) =>
    attempt.tokens.map(({ row, conversation }) => {
      const names = new Map<string, string>();
      const turns = conversation?.turns ?? [];
      const found = turns.findIndex(({ call }) => call !== undefined);
      const first = found === -1 ? turns.length : found;
      const written = turns.map(({ message }) => templateMessage(message, names));
      const zeros = row.prompt_ids.map(() => 0);
      const scored = attempt.group.rewards.filter((reward) => reward !== null);
      const std = spread(scored, 0);
      return {
        prompt: written.slice(0, first),
        completion: written.slice(first),
        input_ids: [...row.prompt_ids, ...row.response_ids],
        completion_mask: [...zeros, ...maskOf(attempt, row)],
        old_log_probs: [...zeros, ...logprobsOf(attempt, row)],
        advantage: attempt.imputed ? 0 : (rewardOf(attempt) - mean(scored)) / (std + EPSILON),
        model_version: versionOf(row),
        group_id: attempt.group.index,
        metrics: { reward: rewardOf(attempt), reward_std: std },
      };
    }),
};
