/** verl's AgentLoopOutput: one line for each segment. The trainer takes a list of outputs for a rollout. */
import type { AttemptFormat } from './format.ts';
import { logprobsOf, maskOf, originOf, rewardOf } from './tokenLines.ts';

export const verl: AttemptFormat = {
  id: 'verl',
  title: 'Tokens: verl',
  text: 'AgentLoopOutput, a line for each segment; extra_fields.uid is the group',
  file: 'jsonl',
  per: 'attempt',
  needs: 'tokens and messages',
  nullRules: ['drop_row', 'drop_group', 'mask', 'mean_of_group', 'error'],
  checked: 'verl 0.9.1: verl/experimental/agent_loop/agent_loop.py',
  lines: (attempt) =>
    attempt.tokens.map(({ row, turns }) => ({
      prompt_ids: [...row.prompt_ids],
      response_ids: [...row.response_ids],
      response_mask: [...maskOf(attempt, row)],
      response_logprobs: [...logprobsOf(attempt, row)],
      reward_score: rewardOf(attempt),
      num_turns: turns,
      // Seconds of the whole rollout.
      metrics: {
        generate_sequences: row.ms.model / 1000,
        tool_calls: row.ms.tool / 1000,
        compute_score: 0,
        num_preempted: -1,
      },
      extra_fields: { uid: attempt.group.id, rollout_n: attempt.group.member, ...originOf(attempt, row) },
    })),
};
