/** ms-swift's RolloutOutput: one line for each segment, whose response is one reply with the IDs of all of it. */
import type { JsonObject } from '../../common/json.ts';
import type { ChatMessage } from '../../trace/chat/messages.ts';
import { argumentsOf, contentText, thinkingText } from './chatText.ts';
import type { Turn } from './conversations.ts';
import type { AttemptFormat, TokenRow, TrainingAttempt } from './format.ts';
import { maskOf, originOf, rewardOf } from './tokenLines.ts';

export const swiftRollout: AttemptFormat = {
  id: 'swift',
  title: 'Tokens: ms-swift',
  text: 'RolloutOutput, a line for each segment, with IDs, mask, and log probabilities',
  file: 'jsonl',
  per: 'attempt',
  needs: 'tokens and messages',
  nullRules: ['drop_row', 'drop_group', 'mask', 'mean_of_group', 'error'],
  checked: 'ms-swift 4.6.0: swift/infer_engine/protocol.py, swift/rlhf_trainers/utils.py',
  lines: (attempt, leaveOut) =>
    attempt.tokens.flatMap(({ row, conversation, turns }) => {
      const prompt = promptOf(attempt, { row, conversation, turns });
      if (typeof prompt === 'string') {
        leaveOut(prompt);
        return [];
      }
      const ids = [...prompt.masked, ...row.response_ids];
      const mask = [...prompt.masked.map(() => 0), ...maskOf(attempt, row)];
      const last = conversation?.turns.findLast(({ call }) => call !== undefined);
      const reply = last === undefined ? { role: 'assistant', content: '' } : rawMessage(last.message);
      const ending = row.calls.at(-1);
      const [before, completion] = [row.prompt_ids.length - prompt.masked.length, ids.length];
      return [
        {
          response: {
            id: `${row.rollout}-${row.segment}`,
            object: 'chat.completion',
            created: Math.floor((attempt.row.progress.started_at ?? 0) / 1000),
            model: attempt.model ?? '',
            choices: [
              {
                index: 0,
                message: reply,
                finish_reason: row.finish_reasons.at(-1) === 'length' ? 'length' : 'stop',
                token_ids: row.response_ids.slice(ending?.from ?? 0, ending?.to ?? 0),
              },
            ],
            usage: { prompt_tokens: before, completion_tokens: completion, total_tokens: before + completion },
            prompt_token_ids: row.prompt_ids.slice(0, before),
          },
          messages: [...prompt.turns.map(({ message }) => rawMessage(message)), reply],
          response_token_ids: [ids],
          response_loss_mask: [mask],
          // As many as the mask has ones: with another number, the trainer drops all of them.
          rollout_logprobs: [row.response_logprobs.filter((_, index) => mask[prompt.masked.length + index] === 1)],
          rollout_infos: {
            total_reward: rewardOf(attempt),
            num_turns: turns,
            prompt_id: attempt.group.id,
            ...originOf(attempt, row),
          },
        },
      ];
    }),
};

interface Prompt {
  /** The messages that the trainer renders. */
  readonly turns: readonly Turn[];
  /** What follows them in the prompt of the segment. It becomes part of the response, without loss. */
  readonly masked: readonly number[];
}

/**
 * Returns the prompt of a segment, or why it has none. The trainer renders messages by its own template, and trains
 * the text of each reply that has no IDs. So nothing after the first prompt of the agent is a message of its own.
 */
function promptOf(attempt: TrainingAttempt, { row, conversation }: TokenRow): Prompt | string {
  const turns = promptTurns(conversation?.turns);
  if (turns === undefined) return 'its messages are not known';
  if (!turns.some(isReply)) return { turns, masked: [] };
  const first = attempt.tokens.find(({ row: { agent } }) => agent === row.agent);
  const firstTurns = promptTurns(first?.conversation?.turns);
  const start = first?.row.prompt_ids ?? [];
  if (firstTurns === undefined || firstTurns.some(isReply) || start.some((id, index) => row.prompt_ids[index] !== id))
    return 'its prompt has replies, whose text ms-swift would train';
  return { turns: firstTurns, masked: row.prompt_ids.slice(start.length) };
}

/** Returns the messages before the first reply that the segment sampled. */
function promptTurns(turns: readonly Turn[] = []): readonly Turn[] | undefined {
  const at = turns.findIndex(({ call }) => call !== undefined);
  return at === -1 ? undefined : turns.slice(0, at);
}

function isReply({ message }: Turn): boolean {
  return message.role === 'assistant';
}

/** Returns a message as the policy wrote it, about: reward functions read the last one. */
function rawMessage(message: ChatMessage): JsonObject {
  if (message.role !== 'assistant') return { role: message.role, content: contentText(message.content) };
  const calls = (message.tool_calls ?? []).map(
    (call) =>
      `<tool_call>\n${JSON.stringify({ name: call.function.name, arguments: argumentsOf(call) })}\n</tool_call>`,
  );
  return { role: 'assistant', content: [thinkingText(message), ...calls].filter((text) => text !== '').join('\n') };
}
