/** Classifies failed requests by how to handle them. */

import { APIConnectionError, APIConnectionTimeoutError } from 'openai';
import { isJsonObject } from '../../common/json.ts';
import { shortened } from '../../common/text.ts';
import { retryAfterMs } from './retryAfter.ts';
import { DROPPED_HEADER, EndpointRefusal } from './transport.ts';

export type Failure =
  /** The endpoint cannot accept the call now: retry later. `name` is short and is recorded with the retry. */
  | { readonly what: 'busy' | 'down'; readonly name: string; readonly text: string; readonly retryAfterMs?: number }
  /** A whole reply took too long: streamed, it shows whether the endpoint is slow or hangs. */
  | { readonly what: 'slow'; readonly text: string }
  /** What came cannot be understood: tried again a few times. */
  | { readonly what: 'unreadable'; readonly text: string }
  | {
      readonly what: 'denied' | 'missing' | 'overflow' | 'max_tokens' | 'no_tools' | 'refused';
      readonly status: number;
      readonly text: string;
    }
  /** Waiting does not help: an invalid URL, or an untrusted certificate. */
  | { readonly what: 'unreachable'; readonly text: string };

/** Thrown by the reader of a response. */
export class AnswerError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.text);
    this.name = 'AnswerError';
    this.failure = failure;
  }
}

const TLS = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|ERR_SSL|EPROTO/;
const LENGTH = new RegExp(
  'maximum context length|context[ _](?:length|window)' +
    '|(?:prompt|input|request)[^.]{0,40}(?:is )?too (?:long|large|many tokens)' +
    '|input tokens? .*exceed|reduce the length of (?:the )?(?:input|messages|prompt)',
  'i',
);
/**
 * Matches a value above the maximum of any reply. What one call's input leaves free is reported together with the
 * input's length.
 */
const TOO_MANY = /greater than|too large|at most|exceed/i;
/** Matches a rejection that reports the length of the model's context. */
const CONTEXT = /(?:context length (?:is|of)|max_model_len\D?) ?(\d+)/i;
const TOOLS = /tool/i;
const UNSUPPORTED =
  /not (?:support|allow|enable)|unsupported|does ?n[o']t support|requires? --enable-auto-tool-choice|tool-call-parser/i;

/** The parts of a rejected request that explain the rejection. */
interface CallTarget {
  readonly tools: readonly unknown[];
  readonly sampling: { readonly max_tokens?: number };
}

/** `now` in ms since the epoch, for a Retry-After that is a date. */
export function failureOf(thrown: unknown, target: CallTarget, now: number): Failure {
  if (thrown instanceof AnswerError) return thrown.failure;
  if (thrown instanceof APIConnectionTimeoutError)
    return { what: 'down', name: 'timeout', text: 'it did not respond in time' };
  const cause = thrown instanceof APIConnectionError ? (thrown.cause ?? thrown) : thrown;
  if (!(cause instanceof EndpointRefusal)) return connectionFailure(cause);
  return httpFailure({
    status: cause.status,
    body: parsed(cause.body),
    retryAfter: cause.headers.get('retry-after') ?? undefined,
    dropped: cause.headers.get(DROPPED_HEADER) ?? undefined,
    target,
    now,
  });
}

/** Classifies an error object within a stream, such as vLLM's when the engine dies during a response. */
export function streamedFailure(error: unknown, target: CallTarget, now: number): Failure {
  const code = isJsonObject(error) && typeof error['code'] === 'number' ? error['code'] : 500;
  return httpFailure({ status: code, body: error, retryAfter: undefined, dropped: undefined, target, now });
}

/** Returns the `error` object of a JSON body, the whole body if it has none, or the text itself. */
function parsed(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text);
    return isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : body;
  } catch {
    return text;
  }
}

interface Refusal {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfter: string | undefined;
  /** Why a router dropped it. */
  readonly dropped: string | undefined;
  readonly target: CallTarget;
  readonly now: number;
}

function httpFailure({ status, body, retryAfter, dropped, target, now }: Refusal): Failure {
  const message = messageIn(body) ?? `status ${status} without a message`;
  const text = dropped === undefined ? message : `${message} (${shortened(dropped, 100)})`;
  if (status === 429 || status === 503) {
    const wait = retryAfterMs(retryAfter, now);
    return { what: 'busy', name: String(status), text, ...(wait === undefined ? {} : { retryAfterMs: wait }) };
  }
  if (status >= 500 || status === 408 || status === 425) {
    const wait = retryAfterMs(retryAfter, now);
    return { what: 'down', name: String(status), text, ...(wait === undefined ? {} : { retryAfterMs: wait }) };
  }
  if (status === 401 || status === 403) return { what: 'denied', status, text };
  if (status === 404) return { what: 'missing', status, text };
  if (status === 400 || status === 413 || status === 422) {
    const { param, code } = isJsonObject(body) ? body : {};
    if (param !== 'input_tokens' && exceedsMaxTokens(param, text, target.sampling.max_tokens))
      return { what: 'max_tokens', status, text };
    if (param === 'input_tokens' || code === 'context_length_exceeded' || LENGTH.test(text))
      return { what: 'overflow', status, text };
    if (target.tools.length > 0 && TOOLS.test(text) && UNSUPPORTED.test(text))
      return { what: 'no_tools', status, text };
  }
  return { what: 'refused', status, text };
}

/** Returns whether the endpoint never allows a reply of that many tokens, however short the messages are. */
function exceedsMaxTokens(param: unknown, text: string, maxTokens: number | undefined): boolean {
  if (maxTokens === undefined) return false;
  const context = Number(CONTEXT.exec(text)?.[1] ?? Number.NaN);
  if (!Number.isNaN(context)) return maxTokens >= context;
  return (param === 'max_tokens' || param === 'max_completion_tokens') && TOO_MANY.test(text);
}

/** Returns the endpoint's own message: OpenAI's `{message}`, FastAPI's `{detail}`, or plain text. */
function messageIn(body: unknown): string | undefined {
  if (typeof body === 'string' && body.trim() !== '') return shortened(body.trim(), 2000);
  if (!isJsonObject(body)) return undefined;
  for (const key of ['message', 'detail', 'error']) {
    const value = body[key];
    if (typeof value === 'string' && value !== '') return shortened(value, 2000);
  }
  return undefined;
}

function connectionFailure(cause: unknown): Failure {
  const code = codeOf(cause);
  const text = cause instanceof Error ? cause.message : String(cause);
  if (TLS.test(code)) return { what: 'unreachable', text: `its certificate is not trusted (${code}): ${text}` };
  if (code === 'ERR_INVALID_URL' || code === 'UND_ERR_INVALID_ARG')
    return { what: 'unreachable', text: `its address is wrong: ${text}` };
  const name = NAMES[code] ?? 'cut';
  if (name === 'timeout') return { what: 'down', name, text: 'it did not respond in time' };
  return { what: 'down', name, text: text === '' ? code : text };
}

/** Node wraps the errors of several addresses in an AggregateError, and undici wraps them again. */
function codeOf(cause: unknown): string {
  for (let error = cause, depth = 0; error instanceof Error && depth < 4; error = error.cause, depth++) {
    if ('code' in error && typeof error.code === 'string') return error.code;
    if (error instanceof AggregateError) return codeOf(error.errors[0]);
  }
  return '';
}

const NAMES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'no_address',
  EAI_AGAIN: 'no_address',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  ETIMEDOUT: 'timeout',
};
