/** Messages of a trajectory as messages of the chat completions format. */

import type { Json } from '../../common/json.ts';
import { isJsonObject } from '../../common/json.ts';
import type { Message, ToolSpec } from '../../rollout/ports.ts';
import type { BlobRef, Part } from '../schema.ts';

interface ChatToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

type ChatContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
  | { readonly type: 'input_audio'; readonly input_audio: { readonly data: string; readonly format: string } };

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly ChatContentPart[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }
  | {
      readonly role: 'assistant';
      readonly content: string | null;
      readonly reasoning?: string;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly ChatToolCall[];
    };

/** Under which names an endpoint takes the reasoning of earlier answers. vLLM takes both, strict ones neither. */
export type ReasoningNames = readonly ('reasoning' | 'reasoning_content')[];

/**
 * Converts a context. Reasoning parts are sent under every name of `reasoning`; whoever does not want them back
 * leaves them out of the messages. Images of a tool's answer follow as a user message behind the last tool message of
 * the turn, for `tool` messages may carry text only. Throws TypeError for a value that was left as a reference.
 */
export function toChatMessages(messages: readonly Message[], reasoning: ReasoningNames): ChatMessage[] {
  return convert(
    messages,
    (message) => chatMessages(message, reasoning),
    (image) => image,
  );
}

/**
 * The same as the JSON text of the list. A context is sent again with every step, so the text of a message is made
 * once and kept as long as the message.
 */
export function toChatText(messages: readonly Message[], reasoning: ReasoningNames): string {
  const names = reasoning.join();
  return `[${convert(
    messages,
    (message) => chatText(message, reasoning, names),
    (image) => JSON.stringify(image),
  ).join(',')}]`;
}

/** Puts what the messages become in order: the images of a run of tool messages follow that run. */
function convert<T>(
  messages: readonly Message[],
  of: (message: Message) => ConversionResult<T>,
  imageMessage: (message: ChatMessage) => T,
): T[] {
  const chat: T[] = [];
  let images: ChatContentPart[] = [];
  for (const message of messages) {
    if (message.role !== 'tool' && images.length > 0) {
      chat.push(imageMessage({ role: 'user', content: images }));
      images = [];
    }
    const converted = of(message);
    for (const one of converted.chat) chat.push(one);
    if (converted.images.length > 0) images.push(...converted.images);
  }
  if (images.length > 0) chat.push(imageMessage({ role: 'user', content: images }));
  return chat;
}

interface ConversionResult<T> {
  readonly chat: readonly T[];
  readonly images: readonly ChatContentPart[];
}

const texts = new WeakMap<Message, ConversionResult<string> & { readonly names: string }>();

function chatText(message: Message, reasoning: ReasoningNames, names: string): ConversionResult<string> {
  const cached = texts.get(message);
  if (cached?.names === names) return cached;
  const { chat, images } = chatMessages(message, reasoning);
  const made = { chat: chat.map((one) => JSON.stringify(one)), images, names };
  texts.set(message, made);
  return made;
}

const NO_IMAGES: readonly ChatContentPart[] = [];

function chatMessages(message: Message, reasoning: ReasoningNames): ConversionResult<ChatMessage> {
  switch (message.role) {
    case 'system':
      return { chat: [{ role: 'system', content: textOf(message.parts) }], images: NO_IMAGES };
    case 'user':
      return { chat: [{ role: 'user', content: userContent(message.parts) }], images: NO_IMAGES };
    case 'assistant':
      return { chat: [assistant(message, reasoning)], images: NO_IMAGES };
    case 'tool': {
      const chat: ChatMessage[] = [];
      return { images: toolMessages(message, chat), chat };
    }
  }
}

export interface ChatTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: ToolSpec['parameters'];
  };
}

export function toChatTools(tools: readonly Pick<ToolSpec, 'name' | 'description' | 'parameters'>[]): ChatTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
}

function assistant(message: Message, reasoningNames: ReasoningNames): ChatMessage {
  let text: string | null = null;
  let reasoning = '';
  const calls: ChatToolCall[] = [];
  for (const part of message.parts) {
    if (part.type === 'text') text = (text ?? '') + inline(part.content);
    else if (part.type === 'reasoning') reasoning += inline(part.content);
    else if (part.type === 'tool_call')
      calls.push({
        id: part.id,
        type: 'function',
        function: { name: part.name, arguments: argumentsText(part.arguments) },
      });
  }
  return {
    role: 'assistant',
    content: text ?? (calls.length > 0 ? null : ''),
    ...(reasoning === '' ? {} : Object.fromEntries(reasoningNames.map((name) => [name, reasoning]))),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/**
 * Chat templates parse the arguments, so text that is no JSON object would make every later call of the rollout fail.
 */
function argumentsText(value: Json): string {
  if (typeof value === 'string') return JSON.stringify({ unparsable: value });
  return isJsonObject(value) ? JSON.stringify(value) : JSON.stringify({ value });
}

/** Appends the text of a tool message; gives what must follow as a user message. */
function toolMessages(message: Message, chat: ChatMessage[]): ChatContentPart[] {
  const images: ChatContentPart[] = [];
  let id: string | undefined;
  for (const part of message.parts) {
    if (part.type === 'tool_call_response') {
      id = part.id;
      chat.push({
        role: 'tool',
        tool_call_id: part.id,
        content: typeof part.response === 'string' ? part.response : JSON.stringify(part.response),
      });
    } else {
      const content = contentPart(part);
      if (content !== undefined) images.push(content);
    }
  }
  if (images.length > 0)
    images.unshift({ type: 'text', text: id === undefined ? 'From a tool:' : `From the tool call ${id}:` });
  return images;
}

function userContent(parts: readonly Part[]): string | ChatContentPart[] {
  if (parts.every((part) => part.type === 'text')) return textOf(parts);
  return parts.map(contentPart).filter((part) => part !== undefined);
}

function contentPart(part: Part): ChatContentPart | undefined {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: 'text', text: inline(part.content) };
    case 'blob': {
      const data = inline(part.content);
      const format = /^audio\/(?:x-)?(wav|mp3|mpeg)$/.exec(part.mime_type)?.[1];
      if (format !== undefined)
        return { type: 'input_audio', input_audio: { data, format: format === 'mpeg' ? 'mp3' : format } };
      return { type: 'image_url', image_url: { url: `data:${part.mime_type};base64,${data}` } };
    }
    case 'uri':
      // What is no image goes as its address: the format has no part for it.
      if (part.modality !== undefined && part.modality !== 'image') return { type: 'text', text: part.uri };
      return { type: 'image_url', image_url: { url: part.uri } };
    case 'tool_call':
    case 'tool_call_response':
      return undefined;
  }
}

function textOf(parts: readonly Part[]): string {
  let text = '';
  for (const part of parts) if (part.type === 'text') text += inline(part.content);
  return text;
}

function inline(content: string | BlobRef): string {
  if (typeof content === 'string') return content;
  throw new TypeError(`the blob ${content.$blob} was not loaded before sending it to the model`);
}
