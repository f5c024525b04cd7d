import type { SubmittedAgent } from '../../config/submission.ts';
import type { Part } from '../../trace/schema.ts';
import type { Log } from '../log/log.ts';
import { type LoggedMessage, textOf } from '../log/messages.ts';

/** A token is about so many characters where the tokenizer is not known. */
const CHARACTERS_PER_TOKEN = 4;
/** What an image stands for, in characters; it costs the model about 1,000 tokens. */
const IMAGE_CHARACTERS = 4_000;
/** After an overflow, the context is brought down to this share of its size. */
const KEPT_SHARE = 0.6;

type ContextRules = SubmittedAgent['context'];

/** What of a model's message later calls see: without its reasoning, where the rule says so. */
export function withoutReasoning(message: LoggedMessage, rules: ContextRules, log: Log, agent: string): LoggedMessage {
  if (rules.reasoning === 'keep' || !message.parts.some((part) => part.type === 'reasoning')) return message;
  return log.intern(
    { role: message.role, parts: message.parts.filter((part) => part.type !== 'reasoning'), origin: 'compacted' },
    agent,
  );
}

/** What of a tool's answer goes into the context: shortened in the middle when it is longer than the rule allows. */
export function shortened(message: LoggedMessage, rules: ContextRules, log: Log, agent: string): LoggedMessage {
  const limit = rules.tool_result_tokens * CHARACTERS_PER_TOKEN;
  const parts = message.parts.map((part): Part => {
    if (part.type !== 'tool_call_response') return part;
    const text = typeof part.response === 'string' ? part.response : JSON.stringify(part.response);
    return text.length <= limit ? part : { ...part, response: cutMiddle(text, limit) };
  });
  return parts.some((part, index) => part !== message.parts[index])
    ? log.intern({ role: message.role, parts, origin: 'compacted' }, agent)
    : message;
}

/** The first two thirds and the last third of what is kept, with what is missing told between them. */
function cutMiddle(text: string, limit: number): string {
  const head = onBoundary(text, Math.ceil((limit * 2) / 3));
  const tail = onBoundary(text, text.length - Math.floor(limit / 3));
  return `${text.slice(0, head)}\n[… ${tail - head} characters left out …]\n${text.slice(tail)}`;
}

/** Not inside a surrogate pair. */
function onBoundary(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

/** A context taken apart for making it smaller. */
export interface Division {
  /** System message and task: always kept. */
  readonly fixed: readonly LoggedMessage[];
  /** The oldest turns, to be dropped or summed up. */
  readonly old: readonly LoggedMessage[];
  readonly recent: readonly LoggedMessage[];
}

/**
 * Divides a context so that without its old turns it has about 60 % of its size. A turn begins with a message of the
 * model or the user; a tool's answer stays with its call. undefined when there is nothing left to take away.
 */
export function divide(messages: readonly LoggedMessage[], fixedCount: number): Division | undefined {
  const turns: LoggedMessage[][] = [];
  for (const message of messages.slice(fixedCount)) {
    const turn = turns.at(-1);
    if (turn === undefined || message.role !== 'tool') turns.push([message]);
    else turn.push(message);
  }
  const goal = messages.reduce((sum, message) => sum + sizeOf(message), 0) * (1 - KEPT_SHARE);
  let gone = 0;
  let count = 0;
  // The newest turn is what the model is about to answer.
  while (count < turns.length - 1 && gone < goal) {
    gone += (turns[count] ?? []).reduce((sum, message) => sum + sizeOf(message), 0);
    count++;
  }
  if (count === 0) return undefined;
  return { fixed: messages.slice(0, fixedCount), old: turns.slice(0, count).flat(), recent: turns.slice(count).flat() };
}

function sizeOf(message: LoggedMessage): number {
  let size = 0;
  for (const part of message.parts) {
    if (part.type === 'blob' || part.type === 'uri') size += IMAGE_CHARACTERS;
    else if (part.type === 'tool_call') size += JSON.stringify(part.arguments).length;
    else if (part.type === 'tool_call_response')
      size += typeof part.response === 'string' ? part.response.length : JSON.stringify(part.response).length;
    else if (typeof part.content === 'string') size += part.content.length;
  }
  return size;
}

/** The message that stands for dropped turns. */
export function dropNotice(old: readonly LoggedMessage[], log: Log, agent: string): LoggedMessage {
  const turns = old.filter((message) => message.role !== 'tool' && !isNotice(message)).length;
  const content =
    `${NOTICE} ${turns} earlier messages and what their tools answered are left out, for they did not fit any ` +
    'more.]';
  return log.intern({ role: 'user', parts: [{ type: 'text', content }], origin: 'compacted' }, agent);
}

const NOTICE = '[Note:';

function isNotice(message: LoggedMessage): boolean {
  return message.origin === 'compacted' && textOf(message.parts).startsWith(NOTICE);
}

const SUMMARY_REQUEST =
  'Sum up the conversation so far for yourself, for it will be replaced by your summary: what is asked, what was ' +
  'done and found ' +
  '(with names, numbers and ids), what is still to be done. Give only the summary.';

/** What the model is asked when it is to sum up. */
export function summaryRequest(log: Log, agent: string): LoggedMessage {
  return log.intern({ role: 'user', parts: [{ type: 'text', content: SUMMARY_REQUEST }], origin: 'given' }, agent);
}

/** The message that stands for summed-up turns. */
export function summaryOf(text: string, log: Log, agent: string): LoggedMessage {
  return log.intern(
    {
      role: 'user',
      parts: [{ type: 'text', content: `[Summary of the conversation so far]\n${text}` }],
      origin: 'compacted',
    },
    agent,
  );
}
