/** Converts messages of a trajectory to the chat completions format. */
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

/** Fields in which an endpoint accepts the reasoning of earlier messages. vLLM accepts both, strict endpoints none. */
export type ReasoningNames = readonly ('reasoning' | 'reasoning_content')[];

/**
 * Converts a context. Reasoning parts are sent in every field of `reasoning`; callers remove them from the messages if
 * they should not be sent. Images in tool results follow in a user message after the last tool message of the turn,
 * because `tool` messages may contain only text. Throws TypeError for a value that is still a reference.
 */
export function toChatMessages(messages: readonly Message[], reasoning: ReasoningNames): ChatMessage[] {
  return convert(
    messages,
    (message) => chatMessages(message, reasoning),
    (image) => image,
  );
}

/**
 * Converts a context to JSON text. Every step sends the context again, so the text of a message is cached as long as
 * the message exists.
 */
export function toChatText(messages: readonly Message[], reasoning: ReasoningNames): string {
  const names = reasoning.join();
  const texts = convert(
    messages,
    (message) => chatText(message, reasoning, names),
    (image) => JSON.stringify(image),
  );
  // Not `join`, which would copy the whole context: with `+`, only the sender does.
  let all = '';
  for (const text of texts) all += all === '' ? text : `,${text}`;
  return `[${all}]`;
}

/** Converts messages in order. The images of consecutive tool messages follow after them. */
function convert<T>(
  messages: readonly Message[],
  convertOne: (message: Message) => ConversionResult<T>,
  imageMessage: (message: ChatMessage) => T,
): T[] {
  const chat: T[] = [];
  let images: ChatContentPart[] = [];
  for (const message of messages) {
    if (message.role !== 'tool' && images.length > 0) {
      chat.push(imageMessage({ role: 'user', content: images }));
      images = [];
    }
    const converted = convertOne(message);
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
  const result = { chat: chat.map((one) => JSON.stringify(one)), images, names };
  texts.set(message, result);
  return result;
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

/** Returns a JSON object, because chat templates parse the arguments: other text would make every later call fail. */
function argumentsText(value: Json): string {
  if (typeof value === 'string') return JSON.stringify({ unparsable: value });
  return isJsonObject(value) ? JSON.stringify(value) : JSON.stringify({ value });
}

/** Appends the text of a tool message. Returns the images, which must follow as a user message. */
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
      // The format has no part for other media, so send the address.
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
