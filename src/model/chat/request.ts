/** Builds the body of a chat completion, with what the endpoint supports. */

import type { Json } from '../../common/json.ts';
import type { ModelRequest, ToolSpec } from '../../rollout/ports.ts';
import { toChatText, toChatTools } from '../../trace/chat/messages.ts';
import type { Dialect, OptionalField } from './dialect.ts';

export interface PreparedRequest {
  /** JSON. As bytes, because the engine copies long texts again and again while the call waits for its reply. */
  readonly body: Buffer;
  /** Optional fields in it: a rejection may name one of them. */
  readonly sent: ReadonlySet<OptionalField>;
  readonly streamed: boolean;
}

/**
 * `stream`: whether the reply should be streamed. `sampling.extra` comes last and wins: `stream` there overrides it.
 */
export function prepareRequest(request: ModelRequest, dialect: Dialect, stream: boolean): PreparedRequest {
  const { sampling, capture } = request;
  const sent = new Set<OptionalField>();
  const fields: Record<string, unknown> = {};
  const put = (field: OptionalField, key: string, value: Json): void => {
    if (!dialect.supports(field)) return;
    sent.add(field);
    fields[key] = value;
  };
  if (
    dialect.reasoning.length > 0 &&
    request.messages.some((message) => message.parts.some((part) => part.type === 'reasoning'))
  )
    sent.add('reasoning');
  if (sampling.temperature !== undefined) fields['temperature'] = sampling.temperature;
  if (sampling.top_p !== undefined) fields['top_p'] = sampling.top_p;
  if (sampling.max_tokens !== undefined) {
    if (dialect.supports('max_tokens')) put('max_tokens', 'max_tokens', sampling.max_tokens);
    else fields['max_completion_tokens'] = sampling.max_tokens;
  }
  if (sampling.stop !== undefined && sampling.stop.length > 0) fields['stop'] = sampling.stop;
  put('seed', 'seed', request.seed);
  const wanted = sampling.extra?.['stream'];
  const streamed = typeof wanted === 'boolean' ? wanted : stream;
  if (streamed) {
    fields['stream'] = true;
    put('stream_options', 'stream_options', { include_usage: true });
  }
  if (capture.token_ids) put('return_token_ids', 'return_token_ids', true);
  if (capture.logprobs) put('logprobs', 'logprobs', true);
  Object.assign(fields, sampling.extra);
  // Long members are inserted as existing text. If a name occurs twice, the last one counts.
  const { model = request.model, messages, tools, ...shortMembers } = fields;
  const context = messages === undefined ? toChatText(request.messages, dialect.reasoning) : JSON.stringify(messages);
  const short = JSON.stringify(shortMembers).slice(1, -1);
  // Joined with `+`: the engine copies the text once, when it is sent.
  let body = `{"model":${JSON.stringify(model)},"messages":${context}`;
  if (tools !== undefined) body += `,"tools":${JSON.stringify(tools)}`;
  else if (request.tools.length > 0) body += `,"tools":${toolsText(request.tools)}`;
  body += short === '' ? '}' : `,${short}}`;
  return { body: Buffer.from(body), sent, streamed };
}

const converted = new WeakMap<readonly ToolSpec[], string>();

/** The tools of an agent are the same list for each of its calls. */
function toolsText(tools: readonly ToolSpec[]): string {
  let text = converted.get(tools);
  if (text === undefined) converted.set(tools, (text = JSON.stringify(toChatTools(tools))));
  return text;
}
