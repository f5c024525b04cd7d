/** Errors in the words of vLLM, so that a client sees here what it will see there. */
export interface HttpError {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

function openAiError(status: number, message: string, type: string, param: string | null): HttpError {
  return { status, body: { error: { message, type, param, code: status } } };
}

export function badRequest(message: string, param: string | null): HttpError {
  return openAiError(400, message, 'BadRequestError', param);
}

export function invalidBody(kind: string, place: string, message: string): HttpError {
  return openAiError(
    400,
    `1 validation error:\n  {'type': '${kind}', 'loc': '${place}', 'msg': '${message}'}`,
    'Bad Request',
    place,
  );
}

export function promptTooLong(context: number): HttpError {
  return badRequest(
    `This model's maximum context length is ${context} tokens. However, your prompt contains at least ` +
      `${context + 1} input tokens, which exceeds this limit even without any output tokens. Please reduce the ` +
      `length of the input prompt. (parameter=input_tokens, value=${context + 1})`,
    'input_tokens',
  );
}

export function maxTokensTooLarge(maxTokens: number, context: number): HttpError {
  return badRequest(
    `max_tokens=${maxTokens} cannot be greater than max_model_len=${context}. Please request fewer output ` +
      `tokens. (parameter=max_tokens, value=${maxTokens})`,
    'max_tokens',
  );
}

export function noTools(): HttpError {
  return badRequest('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', null);
}

export function unknownModel(name: string): HttpError {
  return openAiError(404, `The model \`${name}\` does not exist. Valid aliases: demo.`, 'NotFoundError', 'model');
}

export const NOT_FOUND: HttpError = { status: 404, body: { detail: 'Not Found' } };
export const METHOD_NOT_ALLOWED: HttpError = { status: 405, body: { detail: 'Method Not Allowed' } };
export const UNAUTHORIZED: HttpError = { status: 401, body: { error: 'Unauthorized' } };
export const BODY_TOO_LARGE = openAiError(413, 'The request body is larger than 64 MiB.', 'BadRequestError', null);

/** A bug of the demo model. */
export function internalError(thrown: unknown): HttpError {
  return openAiError(
    500,
    `The demo model failed: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
    'InternalServerError',
    null,
  );
}

/** Returns the error for `fail=`. vLLM itself never sends 429; gateways in front of it do. */
export function failureOf(status: number, retryAfter: number | undefined): HttpError {
  if (status === 503) {
    return openAiError(
      503,
      'The engine is currently busy and cannot accept new requests. Please try again later or on a different instance.',
      'Service Unavailable',
      null,
    );
  }
  if (status !== 429)
    return openAiError(
      status,
      `The demo model is configured to fail with ${status}.`,
      status < 500 ? 'BadRequestError' : 'InternalServerError',
      null,
    );
  const error = openAiError(429, 'Too many requests. Please try again later.', 'RateLimitError', null);
  return retryAfter === undefined ? error : { ...error, headers: { 'retry-after': String(retryAfter) } };
}
