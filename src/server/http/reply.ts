/** HTTP responses. */
import type { ServerResponse } from 'node:http';
import { StudioError } from '../../common/errors.ts';
import { HTTP_STATUS } from '../../protocol/httpStatus.ts';

/** Serialized JSON, or a value to serialize. */
type Body = { readonly text: string } | { readonly value: unknown };

export function sendJson(response: ServerResponse, status: number, body: Body): void {
  const text = 'text' in body ? body.text : JSON.stringify(body.value);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(text);
}

export function statusOf(error: unknown): number {
  return StudioError.is(error) ? HTTP_STATUS[error.code] : 500;
}

/** Returns the body of an error response. Any error but a StudioError is a bug: its text goes to the log only. */
export function errorBody(error: unknown): {
  error: { code: string; message: string; hint?: string; details?: Readonly<Record<string, unknown>> };
} {
  if (!StudioError.is(error))
    return {
      error: {
        code: 'internal',
        message: 'The request failed with an internal error.',
        hint: 'See the server log for details.',
      },
    };
  return {
    error: {
      code: error.code,
      message: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      ...(error.details === undefined ? {} : { details: error.details }),
    },
  };
}

export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    // Part of the response was sent. Closing the connection is the only way left to signal the failure.
    response.destroy();
    return;
  }
  sendJson(response, statusOf(error), { value: errorBody(error) });
}
