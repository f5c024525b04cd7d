/** NeMo Gym's rollouts: what `POST /run` answers, with token IDs in the items of the response. A line each segment. */
import type { Json, JsonObject } from '../../common/json.ts';
import type { ChatMessage } from '../../trace/chat/messages.ts';
import type { TrainingRow } from '../../trace/segments/trainingRows.ts';
import { contentText } from './chatText.ts';
import type { Turn } from './conversations.ts';
import type { AttemptFormat, TrainingAttempt } from './format.ts';
import { logprobsOf, originOf, rewardOf } from './tokenLines.ts';

export const nemoGym: AttemptFormat = {
  id: 'nemo-gym',
  title: 'Tokens: NeMo Gym',
  text: 'responses_create_params, response with token IDs in its items, and reward, a line for each segment',
  file: 'jsonl',
  per: 'attempt',
  needs: 'tokens and messages',
  // It has no mask: all that was generated is trained.
  nullRules: ['drop_row', 'drop_group', 'mean_of_group', 'error'],
  checked:
    'nemo-gym 0.4.0: nemo_gym/openai_utils.py, nemo_gym/responses_converter.py, nemo_gym/base_resources_server.py',
  lines: (attempt, leaveOut) =>
    attempt.tokens.flatMap(({ row, conversation }) => {
      const masked = row.calls.filter(({ trainable }) => !trainable).length;
      if (masked > 0) {
        leaveOut('NeMo Gym has no mask, and a call of the segment cannot be trained');
        return [];
      }
      const turns = conversation?.turns ?? [];
      const first = turns.findIndex(({ call }) => call !== undefined);
      if (first === -1) {
        leaveOut('its messages are not known');
        return [];
      }
      const tools = attempt.tools.map(({ function: { name, description, parameters } }) => ({
        ...{ type: 'function', name, description, parameters },
        strict: null,
      }));
      const { temperature, top_p: topP } = row.sampling;
      return [
        {
          responses_create_params: {
            input: turns.slice(0, first).flatMap((turn) => itemsOf(turn, row, attempt)),
            tools,
            ...(typeof temperature === 'number' ? { temperature } : {}),
            ...(typeof topP === 'number' ? { top_p: topP } : {}),
          },
          response: {
            id: `${row.rollout}-${row.segment}`,
            created_at: Math.floor((attempt.row.progress.started_at ?? 0) / 1000),
            model: attempt.model ?? '',
            object: 'response',
            output: turns.slice(first).flatMap((turn) => itemsOf(turn, row, attempt)),
            parallel_tool_calls: true,
            tool_choice: 'auto',
            tools,
          },
          reward: rewardOf(attempt),
          // Read back by the collection of rollouts, to resume it.
          _ng_task_index: attempt.group.index,
          _ng_rollout_index: attempt.group.member,
          rollout_studio: originOf(attempt, row),
        },
      ];
    }),
};

/** Returns the items of a message. The last item of a reply has the IDs of its call. */
function itemsOf({ message, call }: Turn, row: TrainingRow, attempt: TrainingAttempt): JsonObject[] {
  const items = messageItems(message, `${row.rollout}-${call ?? 'given'}`);
  const at = row.calls.findIndex(({ seq }) => seq === call);
  const part = row.calls[at];
  const last = items.at(-1);
  if (part === undefined || last === undefined) return items;
  const ids: Record<string, Json> = {
    prompt_token_ids: [...row.prompt_ids, ...row.response_ids.slice(0, part.from)],
    generation_token_ids: row.response_ids.slice(part.from, part.to),
    generation_log_probs: logprobsOf(attempt, row).slice(part.from, part.to),
  };
  return [...items.slice(0, -1), { ...last, ...ids }];
}

function messageItems(message: ChatMessage, id: string): JsonObject[] {
  switch (message.role) {
    case 'tool':
      return [
        {
          ...{ type: 'function_call_output', call_id: message.tool_call_id, output: message.content },
          status: 'completed',
        },
      ];
    case 'assistant': {
      const { content, reasoning_content: reasoning, tool_calls: calls = [] } = message;
      const text = content ?? '';
      return [
        ...(reasoning === undefined
          ? []
          : [{ type: 'reasoning', id: `${id}-reasoning`, summary: [{ type: 'summary_text', text: reasoning }] }]),
        ...(text === '' && calls.length > 0
          ? []
          : [
              {
                ...{ type: 'message', id: `${id}-message`, role: 'assistant', status: 'completed' },
                content: [{ type: 'output_text', text, annotations: [] }],
              },
            ]),
        ...calls.map((call) => ({
          ...{ type: 'function_call', id: call.id, call_id: call.id, status: 'completed' },
          name: call.function.name,
          arguments: call.function.arguments,
        })),
      ];
    }
    default:
      return [{ type: 'message', role: message.role, content: contentText(message.content) }];
  }
}
