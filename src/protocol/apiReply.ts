/** Reads the responses of a server, and writes the queries of requests. */
import type { z } from 'zod';
import { type ErrorCode, errorCodeOf, StudioError } from '../common/errors.ts';
import { httpError } from './client.ts';

/** Returns a value of a response. Throws StudioError `version` if it has another format. */
export function validated<T>(schema: z.ZodType<T>, text: string, call: string): T {
  const parsed = schema.safeParse(text === '' ? undefined : JSON.parse(text));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new StudioError(
    'version',
    `The server sent an unexpected response to ${call} (${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}).`,
    { hint: 'Use a client and a server of the same version.' },
  );
}

/** Returns the error in a response that is not 2xx. */
export async function readFailure(
  response: { readonly status: number; text(): Promise<string> },
  call: string,
): Promise<StudioError> {
  const text = await response.text();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    body = error; // not JSON: use the status below
  }
  const parsed = httpError.safeParse(body);
  if (!parsed.success) {
    // Our servers return JSON, so something in front of them answered.
    if (response.status === 413)
      return new StudioError('too_large', 'The gateway in front of the server accepts no body of this size.', {
        hint: 'Raise its limit, with ingress-nginx by the annotation nginx.ingress.kubernetes.io/proxy-body-size: "0".',
      });
    if (response.status >= 502 && response.status <= 504)
      return new StudioError(
        'unavailable',
        `The gateway in front of the server returned HTTP status ${response.status}: it cannot reach the server.`,
        { hint: 'Try again. If it persists, check the server and its gateway.' },
      );
    const code: ErrorCode =
      response.status === 404 ? 'not_found' : response.status === 401 ? 'unauthorized' : 'internal';
    return new StudioError(code, `${call} failed with status ${response.status}.`);
  }
  const { code, message, hint, details } = parsed.data.error;
  return new StudioError(errorCodeOf(code), message, {
    ...(hint === undefined ? {} : { hint }),
    ...(details === undefined ? {} : { details }),
  });
}

/** Returns values as the query of an address; empty without any. */
export function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const entries = Object.entries(values).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  return entries.length === 0
    ? ''
    : `?${new URLSearchParams(entries.map(([key, value]): [string, string] => [key, String(value)])).toString()}`;
}
