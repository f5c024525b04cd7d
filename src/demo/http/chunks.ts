/**
 * A streamed response as the data of its events: the chunk with the role (and the prompt's IDs), fragments of
 * reasoning, text, and calls, the chunk with the finish reason, and the usage if requested. vLLM sends a chunk per
 * token; here a chunk contains several, so that a batch of demo responses is cheap.
 */

import type { Segment } from '../text/completion.ts';
import { type Answer, callId, FINGERPRINT, logprobsOf, metricsOf, type Timing, usageOf } from './whole.ts';

/** Tokens per chunk unless the number of chunks is set. */
const TOKENS_PER_CHUNK = 4;

interface Piece {
  readonly segment: Segment;
  readonly ids: readonly number[];
  readonly texts: readonly string[];
}

/** Returns all chunks except the last one with the usage. The first is sent immediately, with the first token. */
export function chunksOf(answer: Answer, target: number | undefined): string[] {
  const head =
    `{"id":${JSON.stringify(answer.id)},"object":"chat.completion.chunk","created":${answer.created},` +
    `"model":"demo","choices":[`;
  const chunks = [
    `${head}{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,` +
      `"finish_reason":null}],` +
      `"prompt_token_ids":${answer.tokenIds ? JSON.stringify(answer.prompt.parts.flat()) : 'null'}}`,
  ];
  let place = 0;
  let ids: number[] = [];
  let texts: string[] = [];
  const choice = (delta: string, finish: string): string => {
    const logprobs =
      answer.logprobs && ids.length > 0 ? JSON.stringify({ content: logprobsOf(answer, ids, texts, place) }) : 'null';
    const tokenIds = answer.tokenIds ? JSON.stringify(ids) : 'null';
    place += ids.length;
    ids = [];
    texts = [];
    return (
      `${head}{"index":0,"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish},` +
      `"token_ids":${tokenIds}}]}`
    );
  };
  // a chunk has the IDs of the tokens before it that have no text of their own
  for (const piece of piecesOf(answer.completion.segments, target)) {
    ids.push(...piece.ids);
    texts.push(...piece.texts);
    const delta = deltaOf(answer, piece);
    if (delta !== undefined) chunks.push(choice(delta, 'null'));
  }
  const { finishReason, stopReason } = answer.completion;
  chunks.push(choice('{}', `${JSON.stringify(finishReason)},"stop_reason":${JSON.stringify(stopReason)}`));
  return chunks;
}

export function usageChunk(answer: Answer, timing: Timing): string {
  return JSON.stringify({
    id: answer.id,
    object: 'chat.completion.chunk',
    created: answer.created,
    model: 'demo',
    choices: [],
    usage: usageOf(answer),
    system_fingerprint: FINGERPRINT,
    metrics: metricsOf(answer, timing),
  });
}

function deltaOf(answer: Answer, { segment, texts }: Piece): string | undefined {
  const text = texts.join('');
  switch (segment.kind) {
    case 'hidden':
      return undefined;
    case 'reasoning':
      return `{"reasoning":${JSON.stringify(text)}}`;
    case 'content':
      return `{"content":${JSON.stringify(text)}}`;
    case 'name': {
      const name = answer.completion.turn.calls[segment.call]?.name;
      if (name === undefined) return undefined;
      return (
        `{"tool_calls":[{"id":${JSON.stringify(callId(answer.seed, segment.call))},"type":"function",` +
        `"index":${segment.call},"function":{"name":${JSON.stringify(name)}}}]}`
      );
    }
    case 'arguments':
      return `{"tool_calls":[{"index":${segment.call},"function":{"arguments":${JSON.stringify(text)}}}]}`;
  }
}

/** Cuts the segments into pieces: `target` of them with visible text, if there are enough tokens. */
function piecesOf(segments: readonly Segment[], target: number | undefined): Piece[] {
  const counts = segments.map((segment) =>
    splits(segment) ? Math.ceil(segment.tokens.ids.length / TOKENS_PER_CHUNK) : 1,
  );
  if (target !== undefined) spread(segments, counts, target);
  return segments.flatMap((segment, i) => cut(segment, counts[i] ?? 1));
}

function splits(segment: Segment): boolean {
  return segment.kind !== 'hidden' && segment.kind !== 'name';
}

/** Gives each segment one piece, then more where pieces are longest, in one pass over shares. */
function spread(segments: readonly Segment[], counts: number[], target: number): void {
  const names = segments.filter((segment) => segment.kind === 'name').length;
  const splittable = segments
    .map((segment, i) => ({ i, n: segment.tokens.ids.length }))
    .filter(({ i }) => splits(segments[i] ?? { kind: 'hidden', call: -1, tokens: { ids: [], texts: [] } }));
  let left = Math.max(splittable.length, target - names);
  let tokens = splittable.reduce((sum, { n }) => sum + n, 0);
  for (const [place, { i, n }] of splittable.entries()) {
    const after = splittable.length - place - 1;
    const count = Math.max(1, Math.min(n, left - after, Math.round((left * n) / Math.max(1, tokens))));
    counts[i] = count;
    left -= count;
    tokens -= n;
  }
}

/** Cuts a segment into pieces that never end within a character: tokens without text belong to the next piece. */
function cut(segment: Segment, count: number): Piece[] {
  const { ids, texts } = segment.tokens;
  const pieces: Piece[] = [];
  let from = 0;
  for (let i = 1; i <= count && from < ids.length; i++) {
    let to = i === count ? ids.length : Math.max(from + 1, Math.round((i * ids.length) / count));
    while (to < ids.length && texts[to - 1] === '') to++;
    pieces.push({ segment, ids: ids.slice(from, to), texts: texts.slice(from, to) });
    from = to;
  }
  return pieces;
}
