/** One request to one endpoint, without retries: sends it and reads the response. */

import { shortened } from '../common/text.ts';
import type { ModelReply, ModelRequest } from '../rollout/ports.ts';
import type { Answer } from './chat/answer.ts';
import { AnswerBuilder } from './chat/answer.ts';
import type { Dialect } from './chat/dialect.ts';
import { parseObject } from './chat/parseObject.ts';
import type { PreparedRequest } from './chat/request.ts';
import { StreamedReply } from './chat/streamedReply.ts';
import { AnswerError, streamedFailure } from './http/failures.ts';
import type { SteadyClient } from './http/steadyClient.ts';
import type { IncomingBody, Transport } from './http/transport.ts';
import { SILENCE_MS } from './http/transport.ts';

export interface Call {
  readonly client: SteadyClient;
  readonly transport: Transport;
  readonly dialect: Dialect;
  readonly request: ModelRequest;
  readonly prepared: PreparedRequest;
  /** Headers of this call besides those of its model. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal: AbortSignal;
  /** The endpoint accepted the request. */
  readonly onAnswered: () => void;
  /** How long a reply that is not streamed may take, in ms. */
  readonly wholeMs: number;
  /** Receives what aborts the request. */
  readonly onPause: (abort: () => void) => void;
  /** Receives text as it streams; absent if nobody watches. */
  readonly onText?: ((text: string) => void) | undefined;
}

/** How long a reply that is not streamed may take at most. */
const LONGEST_MS = 1_800_000;
/** Replies of engines that generate faster are never cut off. */
const SLOW_TOKENS_PER_SECOND = 20;
const ASSUMED_MAX_TOKENS = 4096;

/**
 * Returns how long a reply that is not streamed may take, in ms: nothing shows that it is being generated, so an
 * endpoint that hangs must be told from a long reply. As long as a streaming endpoint may be silent, plus the time of
 * the longest reply.
 */
export function wholeReplyMs({ max_tokens: maxTokens, extra }: ModelRequest['sampling']): number {
  const configured = [maxTokens, extra?.['max_tokens'], extra?.['max_completion_tokens']].find(
    (value) => typeof value === 'number',
  );
  const tokens = typeof configured === 'number' ? configured : ASSUMED_MAX_TOKENS;
  return Math.min(LONGEST_MS, SILENCE_MS + (tokens / SLOW_TOKENS_PER_SECOND) * 1000);
}

/**
 * Finish reasons of responses that the engine ended, not the model: vLLM and SGLang close a stream normally with
 * `abort` when they shut down or when they must drop running requests. The text until then is not a message of the
 * model.
 */
const ENDED_BY_ENGINE: ReadonlySet<string> = new Set(['abort', 'error']);

export type CallResult = Omit<ModelReply, 'retries' | 'weights' | 'pause'>;

/** Rejects with an error that `failureOf` understands. */
export async function callOnce(call: Call): Promise<CallResult> {
  const target = await call.client.target('/chat/completions');
  const began = performance.now();
  const own = call.headers === undefined ? target : { ...target, headers: { ...target.headers, ...call.headers } };
  const exchange = call.transport.post(own, call.prepared.body, call.signal);
  const whole = { late: false };
  const limit = call.prepared.streamed
    ? undefined
    : setTimeout(() => {
        whole.late = true;
        exchange.abort();
      }, call.wholeMs);
  call.onPause(() => exchange.abort());
  try {
    const { headers, body: incoming } = await exchange.response;
    call.onAnswered();
    const builder = new AnswerBuilder();
    let firstMs: number | undefined;
    // Some endpoints ignore `stream: true` and return the whole response.
    const type = String(headers['content-type'] ?? '');
    if (type.includes('text/event-stream')) {
      const reply = new StreamedReply(builder, call.request, (text) => {
        if (text === '') return;
        firstMs ??= performance.now() - began;
        call.onText?.(text);
      });
      await incoming.pipe((bytes) => reply.push(bytes));
      reply.end();
    } else await readWhole(incoming, builder, call, type);
    const ms = performance.now() - began;
    if (builder.reasoningName !== undefined) call.dialect.sawReasoning(builder.reasoningName);
    const answer = builder.build(call.request.seed, call.request.tools.length > 0);
    if (ENDED_BY_ENGINE.has(answer.finishReason))
      throw new AnswerError({
        what: 'down',
        name: 'aborted',
        text: `the engine aborted the response (finish_reason ${answer.finishReason})`,
      });
    return toResult(answer, call, ms, firstMs);
  } catch (error) {
    exchange.abort();
    if (whole.late && !call.signal.aborted)
      throw new AnswerError({
        what: 'slow',
        text: `it did not return the whole reply within ${Math.round(call.wholeMs / 1000)} s`,
      });
    throw error;
  } finally {
    clearTimeout(limit);
  }
}

async function readWhole(body: IncomingBody, builder: AnswerBuilder, call: Call, type: string): Promise<void> {
  const chunks: Buffer[] = [];
  await body.pipe((bytes) => chunks.push(bytes));
  const text = Buffer.concat(chunks).toString('utf8');
  const raw = parseObject(text);
  if ('error' in raw && raw['error'] !== null && raw['error'] !== undefined)
    throw new AnswerError(streamedFailure(raw['error'], call.request, Date.now()));
  if (!Array.isArray(raw['choices']) || raw['choices'].length === 0) {
    throw new AnswerError({
      what: 'unreadable',
      text: `the response contains no choices (${type === '' ? 'no content type' : type}): ` + shortened(text, 200),
    });
  }
  builder.whole(raw);
}

function toResult(answer: Answer, call: Call, ms: number, firstMs: number | undefined): CallResult {
  const { tokens, whyNot } = captured(answer, call);
  // A reply that comes as a whole does not show it, but some engines report it.
  const first = firstMs ?? answer.firstMs;
  return {
    parts: answer.parts,
    finishReason: answer.finishReason,
    ms,
    ...(answer.usage === undefined ? {} : { usage: answer.usage }),
    ...(answer.queueMs === undefined ? {} : { queueMs: answer.queueMs }),
    ...(first === undefined ? {} : { firstMs: first }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(whyNot === undefined ? {} : { whyNot }),
  };
}

/** Returns the tokens that the engine sampled, or why they are unknown. IDs are never derived from text. */
function captured(answer: Answer, call: Call): Pick<CallResult, 'tokens' | 'whyNot'> {
  const { capture } = call.request;
  if (!capture.token_ids) return { whyNot: 'token IDs are not captured (capture.token_ids)' };
  const { promptIds, completionIds, logprobs } = answer;
  if (promptIds === undefined || completionIds === undefined) {
    return {
      whyNot: call.prepared.sent.has('return_token_ids')
        ? 'the endpoint returns no token IDs'
        : 'the endpoint rejects return_token_ids',
    };
  }
  const tokens = { prompt: promptIds, completion: completionIds };
  if (!capture.logprobs) return { tokens };
  if (logprobs === undefined)
    return {
      tokens,
      whyNot: call.prepared.sent.has('logprobs')
        ? 'the endpoint returns no log probabilities'
        : 'the endpoint rejects logprobs',
    };
  if (logprobs.length !== completionIds.length)
    return {
      tokens,
      whyNot: `the endpoint returned ${logprobs.length} log probabilities for ${completionIds.length} tokens`,
    };
  return { tokens: { ...tokens, logprobs } };
}
