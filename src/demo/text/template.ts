/**
 * The chat template: how messages and tools become one prompt. What the model wrote is rendered exactly as it was
 * sampled, so the prompt of a step begins with the prompt and the completion of the step before.
 */
import { type ChatMessage, type ChatRequest, contentText } from '../request.ts';
import { markId, tokenize } from './tokenizer.ts';

/** A prompt as the parts it was made of. Ids are only put together when somebody asks for them. */
export interface Prompt {
  readonly parts: readonly (readonly number[])[];
  readonly count: number;
  /** Tokens up to the end of the last assistant message: what an engine with a prefix cache has seen before. */
  readonly seen: number;
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
  let seen = 0;
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
    if (message.role === 'assistant') seen = count;
    text('\n');
  }
  if (generate) {
    add(START);
    text('assistant\n');
  }
  return { parts, count, seen };
}

/** What stands before the arguments of a call, and behind them. */
export function callHead(name: string): string {
  return `{"name": ${JSON.stringify(name)}, "arguments": `;
}
export const CALL_TAIL = '}';
