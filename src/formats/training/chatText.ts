/** How the messages of conversations are written for trainers. */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { ChatMessage } from '../../trace/chat/messages.ts';

type Assistant = Extract<ChatMessage, { role: 'assistant' }>;
type ToolCall = NonNullable<Assistant['tool_calls']>[number];

/** Returns the arguments as an object, as chat templates of transformers expect them. */
export function argumentsOf({ function: { arguments: text } }: ToolCall): JsonObject {
  const value = JSON.parse(text) as Json; // written by toChatMessages
  return isJsonObject(value) ? value : { value };
}

/**
 * Returns a message in the form that `datasets` and chat templates read: arguments are objects, tool messages have the
 * name of their tool, and reasoning is in `reasoning_content`. `calls`: names of tools by ID of the call, which it adds
 * to.
 */
export function templateMessage(message: ChatMessage, calls: Map<string, string>): JsonObject {
  switch (message.role) {
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content ?? '',
        ...(message.reasoning_content === undefined ? {} : { reasoning_content: message.reasoning_content }),
        ...(message.tool_calls === undefined
          ? {}
          : {
              tool_calls: message.tool_calls.map((call) => {
                calls.set(call.id, call.function.name);
                return {
                  id: call.id,
                  type: 'function',
                  function: { name: call.function.name, arguments: argumentsOf(call) },
                };
              }),
            }),
      };
    case 'tool': {
      const name = calls.get(message.tool_call_id);
      return {
        role: 'tool',
        tool_call_id: message.tool_call_id,
        ...(name === undefined ? {} : { name }),
        content: message.content,
      };
    }
    default:
      return message as unknown as JsonObject; // all of it is JSON
  }
}

/** Returns the text of a reply with its reasoning as models write it that have no field for it. */
export function thinkingText({ content, reasoning_content: reasoning }: Assistant): string {
  return `${reasoning === undefined ? '' : `<think>\n${reasoning.trim()}\n</think>\n\n`}${content ?? ''}`;
}

/** Returns a content as text; images are named by their type alone. */
export function contentText(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? [])
    .map((part) => (part.type === 'text' ? part.text : `<${part.type === 'image_url' ? 'image' : 'audio'}>`))
    .join('');
}
