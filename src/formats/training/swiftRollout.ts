/** ms-swift's RolloutOutput: one line for each segment. Its IDs are those of the replies, one list for each. */
import type { JsonObject } from '../../common/json.ts';
import type { ChatMessage } from '../../trace/chat/messages.ts';
import { argumentsOf, contentText, thinkingText } from './chatText.ts';
import type { AttemptFormat } from './format.ts';
import { maskOf, originOf, rewardOf } from './tokenLines.ts';

export const swiftRollout: AttemptFormat = {
  id: 'swift',
  title: 'Tokens: ms-swift',
  text: 'RolloutOutput, a line for each segment, with IDs, mask, and log probabilities for each reply',
  file: 'jsonl',
  per: 'attempt',
  needs: 'tokens and messages',
  nullRules: ['drop_row', 'drop_group', 'mask', 'mean_of_group', 'error'],
  checked: 'ms-swift 4.6.0: swift/infer_engine/protocol.py, swift/rlhf_trainers/utils.py',
  lines: (attempt) =>
    attempt.tokens.map(({ row, conversation, turns }) => {
      const mask = maskOf(attempt, row);
      const of = <T>(all: readonly T[]): T[][] => row.calls.map(({ from, to }) => all.slice(from, to));
      const messages = (conversation?.turns ?? []).map(({ message }) => rawMessage(message));
      const [prompt, completion] = [row.prompt_ids.length, mask.length];
      return {
        response: {
          id: `${row.rollout}-${row.segment}`,
          object: 'chat.completion',
          created: Math.floor((attempt.row.progress.started_at ?? 0) / 1000),
          model: attempt.model ?? '',
          choices: [
            {
              index: 0,
              message: messages.at(-1) ?? { role: 'assistant', content: '' },
              finish_reason: row.finish_reasons.at(-1) === 'length' ? 'length' : 'stop',
              token_ids: of(row.response_ids).at(-1) ?? [],
            },
          ],
          usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
          prompt_token_ids: [...row.prompt_ids],
        },
        messages,
        response_token_ids: of(row.response_ids),
        response_loss_mask: of(mask),
        // As many as the mask has ones: with another number, the trainer drops all of them.
        rollout_logprobs: row.calls.map(({ from, to }) =>
          row.response_logprobs.slice(from, to).filter((_, index) => mask[from + index] === 1),
        ),
        rollout_infos: {
          total_reward: rewardOf(attempt),
          num_turns: turns,
          prompt_id: attempt.group.id,
          ...originOf(attempt, row),
        },
      };
    }),
};

/**
 * Returns a message as the policy wrote it, about. The trainer replaces the text of the last replies by their IDs, so a
 * call must not be in messages of their own: they would be added to the IDs.
 */
function rawMessage(message: ChatMessage): JsonObject {
  if (message.role !== 'assistant') return { role: message.role, content: contentText(message.content) };
  const calls = (message.tool_calls ?? []).map(
    (call) =>
      `<tool_call>\n${JSON.stringify({ name: call.function.name, arguments: argumentsOf(call) })}\n</tool_call>`,
  );
  return { role: 'assistant', content: [thinkingText(message), ...calls].filter((text) => text !== '').join('\n') };
}
