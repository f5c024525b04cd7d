/**
 * The chat template: how messages and tools become one prompt. Messages of the model are rendered exactly as sampled,
 * so the prompt of a step begins with the prompt and the completion of the previous step.
 */
import { type ChatMessage, type ChatRequest, contentText } from '../request.ts';
import { markId, tokenize } from './tokenizer.ts';

/** A prompt as its parts. Their IDs are joined only when needed. */
export interface Prompt {
  readonly parts: readonly (readonly number[])[];
  readonly count: number;
  /** Tokens up to the end of the last assistant message, which an engine with a prefix cache has seen before. */
  readonly cachedTokens: number;
}

const START = [markId('<|im_start|>')];
const END = [markId('<|im_end|>')];
const THINK = [markId('<think>')];
const END_THINK = [markId('</think>')];
const CALL = [markId('<tool_call>')];
const END_CALL = [markId('</tool_call>')];

export function renderPrompt(messages: readonly ChatMessage[], tools: ChatRequest['tools'], generate = true): Prompt {
  const parts: (readonly number[])[] = [];
  let count = 0;
  let cachedTokens = 0;
  const add = (ids: readonly number[]): void => {
    parts.push(ids);
    count += ids.length;
  };
  const text = (value: string): void => {
    if (value !== '') add(tokenize(value).ids);
  };
  if (tools !== undefined && tools !== null && tools.length > 0) {
    add(START);
    text('system\n# Tools\n');
    text(JSON.stringify(tools));
    add(END);
    text('\n');
  }
  for (const message of messages) {
    add(START);
    text(`${message.role}\n`);
    if (message.role === 'assistant') {
      const reasoning = message.reasoning ?? message.reasoning_content ?? '';
      if (reasoning !== '') {
        add(THINK);
        text(reasoning);
        add(END_THINK);
      }
      text(contentText(message));
      for (const call of message.tool_calls ?? []) {
        add(CALL);
        text(callHead(call.function.name));
        text(call.function.arguments);
        text(CALL_TAIL);
        add(END_CALL);
      }
    } else text(contentText(message));
    add(END);
    if (message.role === 'assistant') cachedTokens = count;
    text('\n');
  }
  if (generate) {
    add(START);
    text('assistant\n');
  }
  return { parts, count, cachedTokens };
}

/** The text before and after the arguments of a call. */
export function callHead(name: string): string {
  return `{"name": ${JSON.stringify(name)}, "arguments": `;
}
export const CALL_TAIL = '}';
