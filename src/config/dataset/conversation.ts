/** The conversation from which a task continues, in a column of a dataset. */
import { isJsonObject, type Json } from '../../common/json.ts';
import type { ConversationMessage } from '../../trace/task.ts';

const ROLES = ['system', 'user', 'assistant'] as const;

/** Returns the messages of a cell, or what is wrong with them, after the name of the column. */
export function conversationOf(value: Json): ConversationMessage[] | string {
  if (!Array.isArray(value)) return 'must be a list of messages';
  const messages: ConversationMessage[] = [];
  for (const [index, message] of value.entries()) {
    const wrong = (text: string): string => `${text} in message ${index + 1}`;
    if (!isJsonObject(message)) return wrong('has no object');
    const { role, content } = message;
    const known = ROLES.find((one) => one === role);
    if (known === undefined) return wrong(`has the role ${JSON.stringify(role ?? null)}`);
    if (known === 'system' && index > 0) return wrong('has the role "system", which only the first may have,');
    if (message['tool_calls'] !== undefined) return wrong('has tool calls, which only a rollout can have,');
    const text = textOf(content);
    if (text === undefined) return wrong('has no text as `content`');
    messages.push({ role: known, text });
  }
  return messages;
}

/** Returns a text, or the texts of a list of parts. */
function textOf(content: Json | undefined): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((part) => (isJsonObject(part) && part['type'] === 'text' ? part['text'] : undefined));
  return texts.every((text) => typeof text === 'string') ? texts.join('') : undefined;
}
