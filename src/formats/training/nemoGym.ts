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
      if (turns.every(({ call }) => call === undefined)) {
        leaveOut('its messages are not known');
        return [];
      }
      const logprobs = logprobsOf(attempt, row);
      const response = responseOf(attempt, turns, row, row.rollout, (part) => logprobs.slice(part.from, part.to));
      const { temperature, top_p: topP } = row.sampling;
      return [
        {
          responses_create_params: {
            input: response.input,
            tools: response.response.tools,
            ...(typeof temperature === 'number' ? { temperature } : {}),
            ...(typeof topP === 'number' ? { top_p: topP } : {}),
          },
          response: { id: `${row.rollout}-${row.segment}`, ...response.response },
          reward: rewardOf(attempt),
          // Read back by the collection of rollouts, to resume it.
          _ng_task_index: attempt.group.index,
          _ng_rollout_index: attempt.group.member,
          rollout_studio: originOf(attempt, row),
        },
      ];
    }),
};

/** What a response needs of an attempt. */
interface Responding extends Pick<TrainingAttempt, 'tools' | 'model'> {
  readonly row: { readonly progress: { readonly started_at?: number | undefined } };
}
type Calls = Pick<TrainingRow, 'prompt_ids' | 'response_ids' | 'calls'>;

/**
 * Returns a conversation as the input and the response of a request. What is before the first reply of `row` is input.
 * `row`: the segment; without one, no item has IDs, and what is before the first reply is input. `id`: begins the IDs
 * of items.
 */
export function responseOf(
  { tools: offered, model, row: attempt }: Responding,
  turns: readonly Turn[],
  row: Calls | undefined,
  id: string,
  logprobs: (part: Calls['calls'][number]) => readonly number[],
): { readonly input: JsonObject[]; readonly response: JsonObject & { readonly tools: JsonObject[] } } {
  const first = turns.findIndex(({ message, call }) =>
    row === undefined ? message.role === 'assistant' : call !== undefined,
  );
  const items = (some: readonly Turn[]): JsonObject[] => some.flatMap((turn) => itemsOf(turn, row, id, logprobs));
  const tools = offered.map(({ function: { name, description, parameters } }) => ({
    ...{ type: 'function', name, description, parameters },
    strict: null,
  }));
  return {
    input: items(first === -1 ? turns : turns.slice(0, first)),
    response: {
      created_at: Math.floor((attempt.progress.started_at ?? 0) / 1000),
      model: model ?? '',
      object: 'response',
      output: items(first === -1 ? [] : turns.slice(first)),
      parallel_tool_calls: true,
      tool_choice: 'auto',
      tools,
    },
  };
}

/** Returns the items of a message. The last item of a reply has the IDs of its call, unless it cannot be trained. */
function itemsOf(
  { message, call }: Turn,
  row: Calls | undefined,
  id: string,
  logprobs: (part: Calls['calls'][number]) => readonly number[],
): JsonObject[] {
  const items = messageItems(message, `${id}-${call ?? 'given'}`);
  const part = row?.calls.find(({ seq, trainable }) => seq === call && trainable);
  const last = items.at(-1);
  if (row === undefined || part === undefined || last === undefined) return items;
  const ids: Record<string, Json> = {
    prompt_token_ids: [...row.prompt_ids, ...row.response_ids.slice(0, part.from)],
    generation_token_ids: row.response_ids.slice(part.from, part.to),
    generation_log_probs: [...logprobs(part)],
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
