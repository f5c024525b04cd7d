/** Requests to services that the user configured: search APIs and model endpoints. */

import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import { isJsonObject, jsonOf } from '../../common/json.ts';
import { shortened } from '../../common/text.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { abortedError } from '../aborted.ts';
import { Gate } from './web/addresses.ts';
import { Dispatchers } from './web/dispatchers.ts';
import type { Outgoing } from './web/outgoing.ts';

export interface ServiceRequest {
  /** Display name of the service. Its URL is never shown, because it may contain a key. */
  readonly service: string;
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** POST body: JSON, or the fields of a form. */
  readonly body?: string | Readonly<Record<string, string | File>>;
  /** Explains an error response; `final` if retrying is useless. */
  readonly explain?: (status: number, text: string) => { readonly hint: string; readonly final: boolean } | undefined;
  readonly outgoing: Outgoing;
  readonly signal: AbortSignal;
}

const MAX_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;
const MAX_EXCERPT = 300;
/** Configured services may have any address. */
const ANYWHERE = new Gate(true);
/** Models may think for a long time; the call has its own time limit. */
const MAX_ANSWER_MS = 3_600_000;
/** The service is temporarily overloaded or unavailable. */
const TRANSIENT_STATUS = new Set([429, 502, 503, 504]);

/**
 * Sends a request and returns the response, parsed with `schema`. Retries transient errors. Throws ClassedError:
 * `tool_error`, or the reason of the signal.
 */
export async function requestService<T extends z.ZodType>(request: ServiceRequest, schema: T): Promise<z.output<T>> {
  const { service, signal } = request;
  for (let turn = 1; ; turn++) {
    const outcome = await requestOnce(request);
    if ('text' in outcome) {
      const checked = schema.safeParse(jsonOf(outcome.text));
      if (!checked.success)
        throw new ClassedError('tool_error', `${service} returned an unexpected response: ${excerpt(outcome.text)}`);
      return checked.data;
    }
    if (!outcome.transient || turn === MAX_ATTEMPTS) throw outcome.error;
    await delay(Math.min(MAX_PAUSE_MS, outcome.pauseMs ?? FIRST_PAUSE_MS * 2 ** turn), undefined, { signal }).catch(
      () => {
        throw abortedError(signal);
      },
    );
  }
}

type Outcome =
  | { readonly text: string }
  | { readonly error: ClassedError; readonly transient: boolean; readonly pauseMs: number | undefined };

async function requestOnce({
  service,
  url,
  headers,
  body,
  explain,
  outgoing,
  signal,
}: ServiceRequest): Promise<Outcome> {
  const { FormData, fetch } = await import('undici'); // most workers never need it
  const dispatchers = new Dispatchers(ANYWHERE, outgoing, MAX_ANSWER_MS);
  try {
    const posted = body === undefined || typeof body === 'string' ? body : new FormData();
    if (typeof body === 'object' && typeof posted === 'object')
      for (const [name, value] of Object.entries(body)) posted.set(name, value);
    const response = await fetch(url, {
      dispatcher: await dispatchers.to(new URL(url)),
      method: posted === undefined ? 'GET' : 'POST',
      signal,
      headers: {
        accept: 'application/json',
        ...(typeof posted === 'string' ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(posted === undefined ? {} : { body: posted }),
    });
    const text = await read(response);
    if (response.ok) return { text };
    const explained = explain?.(response.status, text);
    const pause = Number(response.headers.get('retry-after') ?? Number.NaN) * 1000;
    return {
      error: new ClassedError(
        'tool_error',
        `${service} returned status ${response.status}${explained === undefined ? '' : ` (${explained.hint})`}: ` +
          excerpt(messageOf(text)),
      ),
      transient: TRANSIENT_STATUS.has(response.status) && explained?.final !== true,
      pauseMs: Number.isFinite(pause) ? pause : undefined,
    };
  } catch (error) {
    if (signal.aborted) throw abortedError(signal);
    if (error instanceof ClassedError) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why =
      cause instanceof Error
        ? 'code' in cause && cause.code === 'ECONNREFUSED'
          ? 'connection refused'
          : cause.message
        : String(cause);
    return {
      error: new ClassedError('tool_error', `${service} is unreachable: ${why}.`, { cause: error }),
      transient: true,
      pauseMs: undefined,
    };
  } finally {
    await dispatchers.end();
  }
}

/** Returns the error message in a JSON response, or the whole text. */
function messageOf(text: string): string {
  const body = jsonOf(text);
  const inner = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : body;
  if (!isJsonObject(inner)) return text;
  const words = ['message', 'detail', 'error']
    .map((key) => inner[key])
    .find((value) => typeof value === 'string' && value.trim() !== '');
  return typeof words === 'string' ? words : text;
}

async function read(response: { readonly body: unknown }): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES)
      throw new ClassedError('tool_error', `The response is larger than ${MAX_RESPONSE_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function excerpt(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line === '' ? 'no text' : shortened(line, MAX_EXCERPT);
}
