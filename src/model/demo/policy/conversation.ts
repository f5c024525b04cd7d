/** A conversation as the policies read it: what was asked, which tools were called, and what came back. */
import type { Json } from '../../../common/json.ts';
import { contentText, type ChatMessage } from '../request.ts';
import { readSummary } from './summary.ts';

export interface PastCall {
  readonly name: string;
  /** null: what the model wrote was no JSON object. */
  readonly args: Readonly<Record<string, Json>> | null;
  /** undefined: no result yet. */
  readonly result: PastResult | undefined;
}

export type PastResult = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly text: string };

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
    if (message.role === 'tool' && typeof message.tool_call_id === 'string') results.set(message.tool_call_id, contentText(message));
  }
  for (const message of messages) {
    const text = contentText(message);
    if (message.role === 'system' || message.role === 'developer') system.push(text);
    else if (message.role === 'assistant') {
      said.push(text);
      for (const call of message.tool_calls ?? []) calls.push(pastCall(call.function.name, call.function.arguments, results.get(call.id)));
    } else if (message.role === 'user') {
      const told = readSummary(text);
      for (const { name, args, result } of told.calls) calls.push(pastCall(name, args, result));
      asked.push(told.rest);
    }
  }
  return { system: system.join('\n'), asked, said, calls, last: messages.at(-1) };
}

function pastCall(name: string, args: string, result: string | undefined): PastCall {
  return { name, args: objectIn(args), result: result === undefined ? undefined : resultOf(result) };
}

/** The desk's results are JSON. An error is told as an object with a member `error`, or as plain text. */
function resultOf(text: string): PastResult {
  const value = parsed(text);
  const failed = value === undefined || typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value) && 'error' in value);
  return failed ? { ok: false, text } : { ok: true, value };
}

function objectIn(text: string): Record<string, Json> | null {
  const value = parsed(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json; // what JSON.parse gives is Json
  } catch {
    return undefined; // plain text
  }
}
