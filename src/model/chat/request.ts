/** The body of a chat completion, in what of the format the endpoint takes. */
import type { Json, JsonObject } from '../../common/json.ts';
import type { ModelRequest, ToolSpec } from '../../rollout/ports.ts';
import type { ChatTool } from './messages.ts';
import { toChatMessages, toChatTools } from './messages.ts';
import type { Dialect, OptionalField } from './dialect.ts';

export interface PreparedRequest {
  readonly body: JsonObject;
  /** Optional fields that are in it: a refusal may name one of them. */
  readonly sent: ReadonlySet<OptionalField>;
  readonly streamed: boolean;
}

/** `sampling.extra` comes last and wins: `stream: false` there asks for whole answers. */
export function prepareRequest(request: ModelRequest, dialect: Dialect): PreparedRequest {
  const { sampling, capture } = request;
  const sent = new Set<OptionalField>();
  const body: Record<string, unknown> = { model: request.model, messages: toChatMessages(request.messages, dialect.reasoning) };
  const put = (field: OptionalField, key: string, value: Json): void => {
    if (!dialect.takes(field)) return;
    sent.add(field);
    body[key] = value;
  };
  if (request.messages.some((message) => message.parts.some((part) => part.type === 'reasoning')) && dialect.reasoning.length > 0) sent.add('reasoning');
  if (request.tools.length > 0) body['tools'] = chatTools(request.tools);
  if (sampling.temperature !== undefined) body['temperature'] = sampling.temperature;
  if (sampling.top_p !== undefined) body['top_p'] = sampling.top_p;
  if (sampling.max_tokens !== undefined) {
    if (dialect.takes('max_tokens')) put('max_tokens', 'max_tokens', sampling.max_tokens);
    else body['max_completion_tokens'] = sampling.max_tokens;
  }
  if (sampling.stop !== undefined && sampling.stop.length > 0) body['stop'] = sampling.stop;
  put('seed', 'seed', request.seed);
  const streamed = sampling.extra?.['stream'] !== false;
  if (streamed) {
    body['stream'] = true;
    put('stream_options', 'stream_options', { include_usage: true });
  }
  if (capture.token_ids) put('return_token_ids', 'return_token_ids', true);
  if (capture.logprobs) put('logprobs', 'logprobs', true);
  // JSON by construction: strings, numbers and what was parsed from JSON.
  return { body: { ...body, ...sampling.extra } as JsonObject, sent, streamed };
}

const converted = new WeakMap<readonly ToolSpec[], ChatTool[]>();

/** The tools of an agent are the same list at each of its calls. */
function chatTools(tools: readonly ToolSpec[]): ChatTool[] {
  let chat = converted.get(tools);
  if (chat === undefined) converted.set(tools, (chat = toChatTools(tools)));
  return chat;
}
