/** The output of the demo model in one turn, as the tokens of its template, cut off at the limits of the request. */
import { mix, Random } from '../random.ts';
import { CALL_TAIL, callHead } from './template.ts';
import { markId, type Tokens, tokenize, VOCABULARY_SIZE } from './tokenizer.ts';
import type { MARKS } from './vocabulary.ts';

export interface TurnCall {
  readonly name: string;
  /** JSON, unless a mistake changed it. */
  readonly arguments: string;
}

/** One turn of the model, before tokens. */
export interface Turn {
  readonly reasoning: string;
  /** Empty when the turn only calls tools. */
  readonly content: string;
  readonly calls: readonly TurnCall[];
}

/** `hidden`: written by the model, but not part of the response's fields (marks, the frame of a call). */
type SegmentKind = 'hidden' | 'reasoning' | 'content' | 'name' | 'arguments';

export interface Segment {
  readonly kind: SegmentKind;
  /** Which call it belongs to. */
  readonly call: number;
  readonly tokens: Tokens;
}

export interface Completion {
  readonly turn: Turn;
  readonly segments: readonly Segment[];
  readonly count: number;
  readonly reasoningCount: number;
  readonly finishReason: 'stop' | 'tool_calls' | 'length';
  /** The stop string that ended it. */
  readonly stopReason: string | null;
}

/**
 * Converts a turn to tokens. It is cut after `maxTokens`: an incomplete call then stays as text in `content`, as in
 * vLLM. A stop string cuts `content`.
 */
export function complete(turn: Turn, maxTokens: number, stops: readonly string[]): Completion {
  const stopped = cutAtStop(turn, stops);
  const segments = segmentsOf(stopped.turn);
  const count = total(segments);
  if (count > maxTokens) return cutAtLength(segments, maxTokens);
  return {
    turn: stopped.turn,
    segments,
    count,
    reasoningCount: reasoningTokens(segments),
    stopReason: stopped.reason,
    finishReason: stopped.turn.calls.length > 0 ? 'tool_calls' : 'stop',
  };
}

function segmentsOf({ reasoning, content, calls }: Turn): Segment[] {
  const segments: Segment[] = [];
  const add = (kind: SegmentKind, text: string, call = -1): void => {
    if (text !== '') segments.push({ kind, call, tokens: tokenize(text) });
  };
  const mark = (text: (typeof MARKS)[number]): void => {
    segments.push({ kind: 'hidden', call: -1, tokens: { ids: [markId(text)], texts: [text] } });
  };
  if (reasoning !== '') {
    mark('<think>');
    add('reasoning', reasoning);
    mark('</think>');
  }
  add('content', content);
  for (const [i, call] of calls.entries()) {
    mark('<tool_call>');
    add('name', callHead(call.name), i);
    add('arguments', call.arguments, i);
    add('hidden', CALL_TAIL, i);
    mark('</tool_call>');
  }
  mark('<|im_end|>');
  return segments;
}

function cutAtStop(turn: Turn, stops: readonly string[]): { turn: Turn; reason: string | null } {
  let at = -1;
  let reason: string | null = null;
  for (const stop of stops) {
    const index = stop === '' ? -1 : turn.content.indexOf(stop);
    if (index !== -1 && (at === -1 || index < at)) {
      at = index;
      reason = stop;
    }
  }
  return at === -1 ? { turn, reason } : { turn: { ...turn, content: turn.content.slice(0, at), calls: [] }, reason };
}

function cutAtLength(whole: readonly Segment[], maxTokens: number): Completion {
  const segments: Segment[] = [];
  let left = maxTokens;
  for (const segment of whole) {
    if (left <= 0) break;
    const { ids, texts } = segment.tokens;
    segments.push(
      ids.length <= left ? segment : { ...segment, tokens: { ids: ids.slice(0, left), texts: texts.slice(0, left) } },
    );
    left -= ids.length;
  }
  const end = segments.findLastIndex((segment) => segment.tokens.texts[0] === '</tool_call>');
  const begin = segments.findLastIndex((segment) => segment.tokens.texts[0] === '<tool_call>');
  if (begin > end) {
    // the last call is incomplete, so only its text remains
    for (let i = begin; i < segments.length; i++) {
      const segment = segments[i];
      if (segment !== undefined) segments[i] = { ...segment, kind: 'content', call: -1 };
    }
  }
  const textOf = (kind: SegmentKind): string =>
    segments
      .filter((segment) => segment.kind === kind)
      .map((segment) => segment.tokens.texts.join(''))
      .join('');
  const names = segments.filter((segment) => segment.kind === 'name');
  const calls = names.map((name) => ({
    name: (JSON.parse(`${name.tokens.texts.join('')}0}`) as { name: string }).name, // our own `callHead`
    arguments:
      segments.find((segment) => segment.kind === 'arguments' && segment.call === name.call)?.tokens.texts.join('') ??
      '',
  }));
  return {
    turn: { reasoning: textOf('reasoning'), content: textOf('content'), calls },
    segments,
    count: total(segments),
    reasoningCount: reasoningTokens(segments),
    finishReason: 'length',
    stopReason: null,
  };
}

function total(segments: readonly Segment[]): number {
  return segments.reduce((sum, segment) => sum + segment.tokens.ids.length, 0);
}

function reasoningTokens(segments: readonly Segment[]): number {
  return total(segments.filter((segment) => segment.kind === 'reasoning'));
}

/** Returns fake logprobs: small negative numbers that follow from the seed and the position, to test their capture. */
export function logprobOf(seed: number, index: number): number {
  const u = new Random(mix(seed, index)).next();
  return -(u ** 6) * 3;
}

/** Returns other tokens for a position, less likely than the chosen one. */
export function alternativesOf(
  seed: number,
  index: number,
  chosen: number,
  count: number,
): { id: number; logprob: number }[] {
  const random = new Random(mix(seed, index, 1));
  return Array.from({ length: count }, (_, i) => ({
    id: (chosen + 1 + random.below(VOCABULARY_SIZE - 1)) % VOCABULARY_SIZE,
    logprob: -4 - i - random.next(),
  }));
}
