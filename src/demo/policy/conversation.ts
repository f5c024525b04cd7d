/** A conversation as the policies read it: the user's requests, the tool calls, and their results. */
import { type ChatMessage, contentText } from '../request.ts';
import { type PastCall, pastCall } from './pastCall.ts';
import { readSummary } from './summary.ts';

export interface Conversation {
  readonly system: string;
  /** Messages of users, in order. */
  readonly requests: readonly string[];
  /** Messages of the model itself, in order, without reasoning. */
  readonly replies: readonly string[];
  readonly calls: readonly PastCall[];
  readonly last: ChatMessage | undefined;
}

export function readConversation(messages: readonly ChatMessage[]): Conversation {
  const system: string[] = [];
  const requests: string[] = [];
  const replies: string[] = [];
  const calls: PastCall[] = [];
  const results = new Map<string, string>();
  for (const message of messages) {
    if (message.role === 'tool' && typeof message.tool_call_id === 'string')
      results.set(message.tool_call_id, contentText(message));
  }
  for (const message of messages) {
    const text = contentText(message);
    if (message.role === 'system' || message.role === 'developer') system.push(text);
    else if (message.role === 'assistant') {
      replies.push(text);
      for (const call of message.tool_calls ?? [])
        calls.push(pastCall(call.function.name, call.function.arguments, results.get(call.id)));
    } else if (message.role === 'user') {
      const summary = readSummary(text);
      for (const { name, args, result } of summary.calls) calls.push(pastCall(name, args, result));
      requests.push(summary.rest);
    }
  }
  return { system: system.join('\n'), requests, replies, calls, last: messages.at(-1) };
}
