/** Reconstructs the request of a model call, for people who want to send it again. */
import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { Message } from '../../rollout/ports.ts';
import type { ModelSpan } from '../model/spans.ts';
import type { TrajectoryModel } from '../model.ts';
import type { BlobRef, Part } from '../schema.ts';
import { isBlobRef, unescapeKeys } from '../values/keys.ts';
import { replaceAt } from '../values/pointer.ts';
import { type ChatMessage, toChatMessages, toChatTools } from './messages.ts';

/** Reads stored blobs. */
interface ReadBlob {
  text(ref: Pick<BlobRef, '$blob' | 'bytes'>): Promise<string>;
}

const storedTools = z.array(
  z.object({
    name: z.string(),
    description: z.string().default(''),
    parameters: z.record(z.string(), z.unknown() as unknown as z.ZodType<Json>).default({}),
  }),
);

/** Returns the context of the call in the chat completions format, with all blobs loaded except images. */
export async function messagesOf(model: TrajectoryModel, span: ModelSpan, blobs: ReadBlob): Promise<ChatMessage[]> {
  const messages: Message[] = [];
  for (const [first, last] of span.start.data.context) {
    for (let m = first; m <= last; m++) {
      const entry = model.currentMessage(m, span.seq);
      if (entry === undefined) continue;
      const { role, parts } = entry.event.data;
      messages.push({ m, role, parts: await Promise.all(parts.map((part) => whole(part, blobs))) });
    }
  }
  return toChatMessages(messages, []);
}

/** Returns the body of the request, without fields that only some endpoints use. */
export async function requestOf(model: TrajectoryModel, span: ModelSpan, blobs: ReadBlob): Promise<JsonObject> {
  const { model: name, tools } = span.start.data;
  const { extra, ...sampling } = samplingOf(model, span);
  const specs = tools === undefined ? [] : storedTools.parse(JSON.parse(await blobs.text({ $blob: tools, bytes: 0 })));
  const body = {
    model: name ?? 'model',
    messages: await messagesOf(model, span, blobs),
    ...(specs.length === 0 ? {} : { tools: toChatTools(specs) }),
    ...sampling,
    ...(isJsonObject(extra) ? extra : {}),
  };
  return body as unknown as JsonObject; // all of it is JSON
}

/** Returns the sampling parameters with edits applied. */
function samplingOf(model: TrajectoryModel, span: ModelSpan): JsonObject {
  let data: Json = { sampling: span.start.data.sampling };
  for (const { data: edit } of model.editsOf(span.seq)) data = replaceAt(data, edit.path, edit.value) ?? data;
  return (data as { sampling: JsonObject }).sampling;
}

async function whole(part: Part, blobs: ReadBlob): Promise<Part> {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return typeof part.content === 'string' ? part : { ...part, content: await blobs.text(part.content) };
    case 'tool_call':
      return { ...part, arguments: await wholeValue(part.arguments, blobs) };
    case 'tool_call_response':
      return { ...part, response: await wholeValue(part.response, blobs) };
    case 'blob':
      // megabytes of an image are useless on a command line
      return typeof part.content === 'string' ? part : { ...part, content: part.content.head };
    case 'uri':
      return part;
  }
}

async function wholeValue(value: Json, blobs: ReadBlob): Promise<Json> {
  if (!isBlobRef(value)) return unescapeKeys(value);
  const text = await blobs.text(value);
  return /json/.test(value.media) ? (JSON.parse(text) as Json) : text;
}
