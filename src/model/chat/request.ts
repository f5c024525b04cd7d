/** The body of a chat completion, in what of the format the endpoint takes. */

import type { Json } from '../../common/json.ts';
import type { ModelRequest, ToolSpec } from '../../rollout/ports.ts';
import { toChatText, toChatTools } from '../../trace/chat/messages.ts';
import type { Dialect, OptionalField } from './dialect.ts';

export interface PreparedRequest {
  /** JSON. */
  readonly body: string;
  /** Optional fields that are in it: a refusal may name one of them. */
  readonly sent: ReadonlySet<OptionalField>;
  readonly streamed: boolean;
}

/** `sampling.extra` comes last and wins: `stream: false` there requests whole responses. */
export function prepareRequest(request: ModelRequest, dialect: Dialect): PreparedRequest {
  const { sampling, capture } = request;
  const sent = new Set<OptionalField>();
  const rest: Record<string, unknown> = {};
  const put = (field: OptionalField, key: string, value: Json): void => {
    if (!dialect.takes(field)) return;
    sent.add(field);
    rest[key] = value;
  };
  if (
    dialect.reasoning.length > 0 &&
    request.messages.some((message) => message.parts.some((part) => part.type === 'reasoning'))
  )
    sent.add('reasoning');
  if (sampling.temperature !== undefined) rest['temperature'] = sampling.temperature;
  if (sampling.top_p !== undefined) rest['top_p'] = sampling.top_p;
  if (sampling.max_tokens !== undefined) {
    if (dialect.takes('max_tokens')) put('max_tokens', 'max_tokens', sampling.max_tokens);
    else rest['max_completion_tokens'] = sampling.max_tokens;
  }
  if (sampling.stop !== undefined && sampling.stop.length > 0) rest['stop'] = sampling.stop;
  put('seed', 'seed', request.seed);
  const streamed = sampling.extra?.['stream'] !== false;
  if (streamed) {
    rest['stream'] = true;
    put('stream_options', 'stream_options', { include_usage: true });
  }
  if (capture.token_ids) put('return_token_ids', 'return_token_ids', true);
  if (capture.logprobs) put('logprobs', 'logprobs', true);
  Object.assign(rest, sampling.extra);
  // The long members are put in as text that was made before; a member named twice would be the last one's.
  const { model = request.model, messages, tools, ...others } = rest;
  const members = [
    `"model":${JSON.stringify(model)}`,
    `"messages":${messages === undefined ? toChatText(request.messages, dialect.reasoning) : JSON.stringify(messages)}`,
    ...(tools === undefined
      ? request.tools.length === 0
        ? []
        : [`"tools":${toolsText(request.tools)}`]
      : [`"tools":${JSON.stringify(tools)}`]),
    JSON.stringify(others).slice(1, -1),
  ];
  return { body: `{${members.filter((member) => member !== '').join(',')}}`, sent, streamed };
}

const converted = new WeakMap<readonly ToolSpec[], string>();

/** The tools of an agent are the same list at each of its calls. */
function toolsText(tools: readonly ToolSpec[]): string {
  let text = converted.get(tools);
  if (text === undefined) converted.set(tools, (text = JSON.stringify(toChatTools(tools))));
  return text;
}
