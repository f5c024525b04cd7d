/** Messages in the format of the OpenAI chat API, which most recordings use. */
import { z } from 'zod';
import { canonicalJson, isJsonObject, isTooDeep, type Json } from '../common/json.ts';
import type { Part } from '../trace/schema.ts';

const toolCall = z.object({
  id: z.string().nullish(),
  function: z.object({
    name: z.string(),
    arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
  }),
});

const contentPart = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) }),
  z.looseObject({ type: z.string() }),
]);
const content = z.union([z.string(), z.array(contentPart)]).nullish();

export const openAiMessage = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content }),
  z.object({ role: z.literal('developer'), content }),
  z.object({ role: z.literal('user'), content }),
  z.object({
    role: z.literal('assistant'),
    content,
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.object({ role: z.literal('tool'), content, tool_call_id: z.string().nullish(), name: z.string().nullish() }),
]);
export type OpenAiMessage = z.infer<typeof openAiMessage>;

/**
 * A call that a model requested. `raw`: the text of its arguments if that is not a JSON object, or one that is
 * nested too deeply.
 */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Json;
  readonly raw?: string;
}

/** Returns the calls of an assistant message. `nextId` supplies an ID for each call without one. */
export function callsOf(message: Extract<OpenAiMessage, { role: 'assistant' }>, nextId: () => string): RequestedCall[] {
  return (message.tool_calls ?? []).map((call) => {
    const id = call.id ?? nextId();
    const { name, arguments: args } = call.function;
    if (args === undefined || args === null) return { id, name, arguments: {} };
    if (typeof args !== 'string') {
      if (!isTooDeep(args)) return { id, name, arguments: args as Json }; // from JSON.parse
      const raw = JSON.stringify(args);
      return { id, name, arguments: raw, raw };
    }
    const value = parseObject(args);
    return value === undefined ? { id, name, arguments: args, raw: args } : { id, name, arguments: value };
  });
}

function parseObject(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isJsonObject(value) && !isTooDeep(value) ? value : undefined;
  } catch {
    return undefined; // not JSON: kept as text
  }
}

/** Returns the content of a message, without its calls. Content of an unknown type becomes JSON text. */
export function partsOf(value: OpenAiMessage['content']): Part[] {
  if (value === undefined || value === null || value === '') return [];
  if (typeof value === 'string') return [{ type: 'text', content: value }];
  return value.map((part): Part => {
    if ('text' in part && typeof part.text === 'string') return { type: 'text', content: part.text };
    const image = 'image_url' in part ? z.object({ url: z.string() }).safeParse(part.image_url) : undefined;
    if (image?.success === true) return imagePart(image.data.url);
    return { type: 'text', content: canonicalJson(part) };
  });
}

function imagePart(url: string): Part {
  const inline = /^data:([^;,]+);base64,(.*)$/s.exec(url);
  if (inline?.[1] === undefined || inline[2] === undefined) return { type: 'uri', uri: url, modality: 'image' };
  return { type: 'blob', mime_type: inline[1], modality: 'image', content: inline[2] };
}

/** Returns the text of a tool message, as the model read it. */
export function textIn(value: OpenAiMessage['content']): string {
  return partsOf(value)
    .map((part) => (part.type === 'text' && typeof part.content === 'string' ? part.content : ''))
    .join('\n');
}
