/** What `POST /run` answers for a group of one attempt that has ended. */
import { AttemptReader } from '../../client/export/readAttempt.ts';
import type { JsonObject } from '../../common/json.ts';
import { conversationOf } from '../../formats/training/conversations.ts';
import { responseOf } from '../../formats/training/nemoGym.ts';
import { originOf } from '../../formats/training/tokenLines.ts';
import type { Api } from '../../protocol/api.ts';
import type { FinishedGroup } from '../../protocol/groups.ts';
import type { ModelSpan } from '../../trace/model/spans.ts';
import type { TrajectoryModel } from '../../trace/model.ts';
import { trainingRows } from '../../trace/segments/trainingRows.ts';
import type { GymRow } from '../shapes.ts';

/**
 * Returns the row with what the policy saw, the response, and the reward. A response is one conversation: of an attempt
 * with several segments, the newest one of the agent that began. What cannot be trained has no token IDs.
 */
export async function scoredReply(
  api: Api,
  asked: GymRow,
  group: FinishedGroup,
  rollout: string,
  signal: AbortSignal,
): Promise<JsonObject> {
  const [info, [read]] = await Promise.all([
    api.rollout(rollout, signal),
    new AttemptReader(api, signal).read([rollout], { tokens: true, messages: true }),
  ]);
  const { row } = info;
  if (read === undefined) throw new TypeError(`${rollout} was not read`);
  const { model, records, messages, tools } = read;
  const { rows, left_out: leftOut } = trainingRows(model, row, records);
  const segment = rows.findLast(({ agent }) => agent === rows[0]?.agent);
  const calls = segment === undefined ? [] : segment.calls.flatMap(({ seq }) => modelSpan(model, seq) ?? []);
  const last = calls.at(-1) ?? lastCall(model);
  const turns = last === undefined ? [] : conversationOf(model, last, calls, messages).turns;
  const name = model.start?.data.model;
  const { input, response } = responseOf({ row, model: name, tools }, turns, segment, rollout, (part) =>
    (segment?.response_logprobs ?? []).slice(part.from, part.to),
  );
  const { input_tokens: inTokens, output_tokens: outTokens, cached_tokens: cached } = row.progress;
  const reasons = [...new Set(leftOut.map(({ why }) => why))];
  return {
    ...json(asked),
    responses_create_params: {
      ...json(asked.responses_create_params),
      ...(input.length === 0 ? {} : { input }),
      tools: response.tools,
    },
    response: {
      id: segment === undefined ? rollout : `${rollout}-${segment.segment}`,
      ...response,
      usage: {
        ...{ input_tokens: inTokens, output_tokens: outTokens, total_tokens: inTokens + outTokens },
        input_tokens_details: { cached_tokens: cached },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    },
    reward: row.progress.reward ?? null,
    reward_components: segment === undefined ? partsOf(model) : { ...segment.reward_parts },
    rollout_studio: {
      ...(segment === undefined
        ? { batch: row.batch, group: group.group, task: group.task, rollout, attempt: row.attempt }
        : originOf({ imputed: false }, segment)),
      ...(reasons.length === 0 ? {} : { left_out: reasons }),
    },
  };
}

/** How NeMo Gym's collection of rollouts treats a failure. Its own agent with failures has these classes. */
export type FailureClass = 'transient' | 'legitimate' | 'timeout_exceeded' | 'kill_shaped';

/**
 * Returns the row for a rollout without a reward: NeMo Gym's collection writes it to its file of failures, or, if it
 * was killed, nowhere, and runs it again when it resumes. The reward is null, never 0: it is in no metric, and a
 * trainer that needs a number fails instead of learning from it.
 */
export function failureReply(asked: GymRow, failure: FailureClass, why: string, name: string): JsonObject {
  return {
    ...json(asked),
    response: {
      ...{ id: `${name}-failed`, created_at: 0, model: '', object: 'response' },
      output: [
        {
          ...{ type: 'message', id: `${name}-why`, role: 'assistant', status: 'incomplete' },
          content: [{ type: 'output_text', text: why, annotations: [] }],
        },
      ],
      ...{ parallel_tool_calls: true, tool_choice: 'auto', tools: [] },
    },
    reward: null,
    reward_components: {},
    error_message: why,
    _ng_failure_class: failure,
    ...(failure === 'kill_shaped' ? { _ng_no_persist: true } : {}),
    ...(failure === 'timeout_exceeded' ? { _ng_failure_terminal: true } : {}),
  };
}

/** Returns the class of a group of one that has no attempt with a reward, and why it has none. */
export function failureOf({ state, excluded, cut, why }: FinishedGroup): { failure: FailureClass; why: string } {
  const lost = excluded.at(-1);
  const text = [why, lost?.why].filter((one) => one !== undefined && one !== '').join(': ') || 'It has no reward.';
  if (state === 'cancelled') return { failure: 'kill_shaped', why: text };
  if (cut.length > 0) return { failure: 'timeout_exceeded', why: text };
  switch (lost?.outcome) {
    case 'infrastructure':
    case undefined:
      return { failure: 'transient', why: text };
    case 'cancelled':
      return { failure: 'kill_shaped', why: text };
    default:
      return { failure: 'legitimate', why: text };
  }
}

function modelSpan(model: TrajectoryModel, seq: number): ModelSpan | undefined {
  const span = model.span(seq);
  return span?.kind === 'model' ? span : undefined;
}

/** Returns the last call of an agent that has a reply. */
function lastCall(model: TrajectoryModel): ModelSpan | undefined {
  const event = model.events.findLast(
    (one) =>
      one.kind === 'model.start' && modelSpan(model, one.seq)?.end?.data.m !== undefined && !isSide(model, one.seq),
  );
  return event === undefined ? undefined : modelSpan(model, event.seq);
}

function isSide(model: TrajectoryModel, seq: number): boolean {
  return modelSpan(model, seq)?.start.data.side !== undefined;
}

function partsOf(model: TrajectoryModel): JsonObject {
  return { ...model.scores.findLast(({ data }) => data.rollout === undefined)?.data.parts };
}

/** The fields of a row that nobody checks came as JSON. */
function json(row: object): JsonObject {
  return row as JsonObject;
}
