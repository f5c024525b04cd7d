import type { SubmittedAgent } from '../../config/submission.ts';
import type { Part } from '../../trace/schema.ts';
import type { Log } from '../log/log.ts';
import { type LoggedMessage, textOf } from '../log/messages.ts';

/** Approximate characters per token for an unknown tokenizer. */
const CHARACTERS_PER_TOKEN = 4;
/** Size of an image in characters: about 1,000 tokens. */
const IMAGE_CHARACTERS = 4_000;
/** Target size of the context after an overflow, as a share of its size. */
const KEPT_SHARE = 0.6;

type ContextRules = SubmittedAgent['context'];

/** Returns the model's message for later calls, without reasoning if configured. */
export function withoutReasoning(message: LoggedMessage, rules: ContextRules, log: Log, agent: string): LoggedMessage {
  if (rules.reasoning === 'keep' || !message.parts.some((part) => part.type === 'reasoning')) return message;
  return log.intern(
    { role: message.role, parts: message.parts.filter((part) => part.type !== 'reasoning'), origin: 'compacted' },
    agent,
  );
}

/** Returns a tool's response for the context, shortened in the middle if it is too long. */
export function shortened(message: LoggedMessage, rules: ContextRules, log: Log, agent: string): LoggedMessage {
  const parts = shortenedParts(message.parts, rules);
  return parts.some((part, index) => part !== message.parts[index])
    ? log.intern({ role: message.role, parts, origin: 'compacted' }, agent)
    : message;
}

/** Returns the parts of a tool's response as an agent sees them: too long texts are shortened in the middle. */
export function shortenedParts(parts: readonly Part[], rules: Pick<ContextRules, 'tool_result_tokens'>): Part[] {
  const limit = rules.tool_result_tokens * CHARACTERS_PER_TOKEN;
  return parts.map((part): Part => {
    if (part.type !== 'tool_call_response') return part;
    const text = typeof part.response === 'string' ? part.response : JSON.stringify(part.response);
    return text.length <= limit ? part : { ...part, response: cutMiddle(text, limit) };
  });
}

/** Keeps the start (two thirds) and the end (one third), with a note in between. */
function cutMiddle(text: string, limit: number): string {
  const head = onBoundary(text, Math.ceil((limit * 2) / 3));
  const tail = onBoundary(text, text.length - Math.floor(limit / 3));
  return `${text.slice(0, head)}\n[… ${tail - head} characters omitted …]\n${text.slice(tail)}`;
}

/** Moves a position out of a surrogate pair. */
function onBoundary(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

/** A context divided for compaction. */
interface Division {
  /** System message and task: always kept. */
  readonly fixed: readonly LoggedMessage[];
  /** The oldest turns, to be dropped or summarized. */
  readonly old: readonly LoggedMessage[];
  readonly recent: readonly LoggedMessage[];
}

/**
 * Divides a context so that it has about 60% of its size without the old turns. A turn starts with a message of the
 * model or the user; a tool's response stays with its call. Returns undefined if nothing can be removed.
 */
export function divide(messages: readonly LoggedMessage[], fixedCount: number): Division | undefined {
  const turns: LoggedMessage[][] = [];
  for (const message of messages.slice(fixedCount)) {
    const turn = turns.at(-1);
    if (turn === undefined || message.role !== 'tool') turns.push([message]);
    else turn.push(message);
  }
  const goal = messages.reduce((sum, message) => sum + sizeOf(message), 0) * (1 - KEPT_SHARE);
  let removed = 0;
  let count = 0;
  // Keeps the newest turn, which the model is about to answer.
  while (count < turns.length - 1 && removed < goal) {
    removed += (turns[count] ?? []).reduce((sum, message) => sum + sizeOf(message), 0);
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

/** Creates the message that replaces dropped turns. */
export function dropNotice(old: readonly LoggedMessage[], log: Log, agent: string): LoggedMessage {
  const turns = old.filter((message) => message.role !== 'tool' && !isNotice(message)).length;
  const content =
    `${NOTICE} ${turns} earlier messages and their tool results were omitted because they did not fit in the ` +
    'more.]';
  return log.intern({ role: 'user', parts: [{ type: 'text', content }], origin: 'compacted' }, agent);
}

const NOTICE = '[Note:';

function isNotice(message: LoggedMessage): boolean {
  return message.origin === 'compacted' && textOf(message.parts).startsWith(NOTICE);
}

const SUMMARY_REQUEST =
  'Sum up the conversation so far. Your summary will replace it, so include what was requested, what was done and ' +
  'found (with names, numbers, and IDs), and what is left to do. Reply with only the summary.';

/** Creates the request for a summary. */
export function summaryRequest(log: Log, agent: string): LoggedMessage {
  return log.intern({ role: 'user', parts: [{ type: 'text', content: SUMMARY_REQUEST }], origin: 'given' }, agent);
}

/** Creates the message that replaces summarized turns. */
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
