/** One request to one endpoint, without retries: sends it and reads the response. */

import type OpenAI from 'openai';
import { isJsonObject } from '../common/json.ts';
import { shortened } from '../common/text.ts';
import type { ModelReply, ModelRequest } from '../rollout/ports.ts';
import type { Answer } from './chat/answer.ts';
import { AnswerBuilder } from './chat/answer.ts';
import type { Dialect } from './chat/dialect.ts';
import type { PreparedRequest } from './chat/request.ts';
import { AnswerError, streamedFailure } from './http/failures.ts';
import { EventStreamReader } from './http/sse.ts';
import type { IncomingBody, Transport } from './http/transport.ts';

export interface Call {
  readonly client: OpenAI;
  readonly transport: Transport;
  readonly dialect: Dialect;
  readonly request: ModelRequest;
  readonly prepared: PreparedRequest;
  readonly signal: AbortSignal;
  /** The endpoint accepted the request. */
  readonly onAnswered: () => void;
  /** Receives text as it streams; absent if nobody watches. */
  readonly onText?: ((text: string) => void) | undefined;
}

/**
 * Finish reasons of responses that the engine ended, not the model: vLLM and SGLang close a stream normally with
 * `abort` when they shut down or when they must drop running requests. The text until then is not a message of the
 * model.
 */
const ENDED_BY_ENGINE: ReadonlySet<string> = new Set(['abort', 'error']);
const JSON_TYPE = { 'content-type': 'application/json' };

export type CallResult = Omit<ModelReply, 'retries' | 'weights'>;

/** Rejects with an error that `failureOf` understands. */
export async function callOnce(call: Call): Promise<CallResult> {
  // A separate signal, because the openai package never removes its listeners.
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(call.signal.reason);
  if (call.signal.aborted) onAbort();
  call.signal.addEventListener('abort', onAbort, { once: true });
  try {
    const began = performance.now();
    // Uses `post`, because the body is already text and has fields that are not OpenAI's (vLLM's IDs,
    // `sampling.extra`).
    const response = await call.client
      .post('/chat/completions', { body: call.prepared.body, headers: JSON_TYPE, signal: abort.signal })
      .asResponse();
    call.onAnswered();
    const incoming = call.transport.bodyOf(response);
    const builder = new AnswerBuilder();
    let firstMs: number | undefined;
    const onText = (text: string): void => {
      if (text === '') return;
      firstMs ??= performance.now() - began;
      call.onText?.(text);
    };
    // Some endpoints ignore `stream: true` and return the whole response.
    const type = response.headers.get('content-type') ?? '';
    if (type.includes('text/event-stream')) await readStream(incoming, builder, call, onText);
    else await readWhole(incoming, builder, type, onText);
    const ms = performance.now() - began;
    if (builder.reasoningName !== undefined) call.dialect.sawReasoning(builder.reasoningName);
    const answer = builder.build(call.request.seed, call.request.tools.length > 0);
    if (ENDED_BY_ENGINE.has(answer.finishReason))
      throw new AnswerError({
        what: 'down',
        name: 'aborted',
        text: `the engine aborted the response (finish_reason ${answer.finishReason})`,
      });
    return toResult(answer, call, ms, call.prepared.streamed ? firstMs : undefined);
  } catch (error) {
    abort.abort();
    throw error;
  } finally {
    call.signal.removeEventListener('abort', onAbort);
  }
}

async function readStream(
  body: IncomingBody,
  builder: AnswerBuilder,
  call: Call,
  onText: (text: string) => void,
): Promise<void> {
  const received = { done: false };
  const reader = new EventStreamReader((data) => {
    if (data === '[DONE]') {
      received.done = true;
      return;
    }
    const chunk = parseChunk(data);
    if ('error' in chunk && chunk['error'] !== null && chunk['error'] !== undefined)
      throw new AnswerError(streamedFailure(chunk['error'], call.request, Date.now()));
    onText(builder.chunk(chunk));
  });
  await body.pipe((bytes) => reader.push(bytes));
  reader.end();
  if (!received.done && !builder.finished)
    throw new AnswerError({ what: 'down', name: 'cut', text: 'the response ended unexpectedly' });
}

async function readWhole(
  body: IncomingBody,
  builder: AnswerBuilder,
  type: string,
  onText: (text: string) => void,
): Promise<void> {
  const chunks: Buffer[] = [];
  await body.pipe((bytes) => chunks.push(bytes));
  const text = Buffer.concat(chunks).toString('utf8');
  const raw = parseChunk(text);
  if (!Array.isArray(raw['choices']) || raw['choices'].length === 0) {
    throw new AnswerError({
      what: 'unreadable',
      text: `the response contains no choices (${type === '' ? 'no content type' : type}): ` + shortened(text, 200),
    });
  }
  onText(builder.whole(raw));
}

function parseChunk(data: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw new AnswerError({ what: 'unreadable', text: `the response is not JSON: ${shortened(data, 200)}` });
  }
  if (!isJsonObject(value))
    throw new AnswerError({ what: 'unreadable', text: `the response is not a JSON object: ${shortened(data, 200)}` });
  return value;
}

function toResult(answer: Answer, call: Call, ms: number, firstMs: number | undefined): CallResult {
  const { tokens, whyNot } = captured(answer, call);
  return {
    parts: answer.parts,
    finishReason: answer.finishReason,
    ms,
    ...(answer.usage === undefined ? {} : { usage: answer.usage }),
    ...(answer.queueMs === undefined ? {} : { queueMs: answer.queueMs }),
    ...(firstMs === undefined ? {} : { firstMs }),
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
