/** A conversation as the policies read it: what was asked, which tools were called, and what came back. */
import { type ChatMessage, contentText } from '../request.ts';
import { type PastCall, pastCall } from './pastCall.ts';
import { readSummary } from './summary.ts';

export interface Conversation {
  readonly system: string;
  /** What users wrote, in order. */
  readonly asked: readonly string[];
  /** What the model itself wrote, in order, without its thoughts. */
  readonly said: readonly string[];
  readonly calls: readonly PastCall[];
  readonly last: ChatMessage | undefined;
}

export function readConversation(messages: readonly ChatMessage[]): Conversation {
  const system: string[] = [];
  const asked: string[] = [];
  const said: string[] = [];
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
      said.push(text);
      for (const call of message.tool_calls ?? [])
        calls.push(pastCall(call.function.name, call.function.arguments, results.get(call.id)));
    } else if (message.role === 'user') {
      const told = readSummary(text);
      for (const { name, args, result } of told.calls) calls.push(pastCall(name, args, result));
      asked.push(told.rest);
    }
  }
  return { system: system.join('\n'), asked, said, calls, last: messages.at(-1) };
}
