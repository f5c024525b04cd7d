/** Messages as the OpenAI chat API writes them, and as most recordings keep them. */
import { z } from 'zod';
import { canonicalJson, type Json } from '../common/json.ts';
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

/** A requested call. `raw`: its argument text if that is not a JSON object. */
export interface AskedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Json;
  readonly raw?: string;
}

/** The calls of an assistant message; `nextId` names those that have no id. */
export function callsOf(message: Extract<OpenAiMessage, { role: 'assistant' }>, nextId: () => string): AskedCall[] {
  return (message.tool_calls ?? []).map((call) => {
    const id = call.id ?? nextId();
    const { name, arguments: asked } = call.function;
    if (asked === undefined || asked === null) return { id, name, arguments: {} };
    if (typeof asked !== 'string') return { id, name, arguments: asked as Json }; // out of JSON.parse
    const value = objectIn(asked);
    return value === undefined ? { id, name, arguments: asked, raw: asked } : { id, name, arguments: value };
  });
}

function objectIn(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined; // the model wrote something else; it is kept as text
  }
}

/** What a message says, without its calls. Content of an unknown type is kept as its JSON. */
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

/** The text of a tool message: what the model read. */
export function textIn(value: OpenAiMessage['content']): string {
  return partsOf(value)
    .map((part) => (part.type === 'text' && typeof part.content === 'string' ? part.content : ''))
    .join('\n');
}
