/** Questions to services that the user has named: search APIs and model endpoints. */
import { setTimeout as delay } from 'node:timers/promises';
import { FormData, fetch } from 'undici';
import type { z } from 'zod';
import { isJsonObject, jsonOf } from '../../common/json.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { abortedError } from '../aborted.ts';
import { Gate } from './web/addresses.ts';
import { Dispatchers } from './web/dispatchers.ts';
import type { Outgoing } from './web/outgoing.ts';

export interface Question {
  /** The service, for people. Its address is told to nobody: a key may be in it. */
  readonly who: string;
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Posted: JSON, or the fields of a form. */
  readonly body?: string | Readonly<Record<string, string | File>>;
  /** What else is to be said of an answer's status and text, and whether asking again is of no use. */
  readonly explain?: (status: number, text: string) => { readonly hint: string; readonly final: boolean } | undefined;
  readonly outgoing: Outgoing;
  readonly signal: AbortSignal;
}

const TRIES = 3;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
const MAX_ANSWER = 16 * 1024 * 1024;
const SHOWN = 300;
/** Services that a user has named may be anywhere. */
const ANYWHERE = new Gate(true);
/** The call has a time limit of its own, and a model may think for long. */
const MAX_ANSWER_MS = 3_600_000;
/** The service is busy or away for the moment. */
const PASSING = new Set([429, 502, 503, 504]);

/**
 * The answer, as `schema` wants it. What passes by itself is waited for. Throws ClassedError: `tool_error`, or as the
 * signal says.
 */
export async function ask<T extends z.ZodType>(question: Question, schema: T): Promise<z.output<T>> {
  const { who, signal } = question;
  for (let turn = 1; ; turn++) {
    const outcome = await once(question);
    if ('text' in outcome) {
      const checked = schema.safeParse(jsonOf(outcome.text));
      if (!checked.success)
        throw new ClassedError('tool_error', `${who} gave an answer that is not understood: ${shown(outcome.text)}`);
      return checked.data;
    }
    if (!outcome.passing || turn === TRIES) throw outcome.error;
    await delay(Math.min(MAX_PAUSE_MS, outcome.pauseMs ?? FIRST_PAUSE_MS * 2 ** turn), undefined, { signal }).catch(
      () => {
        throw abortedError(signal);
      },
    );
  }
}

type Outcome =
  | { readonly text: string }
  | { readonly error: ClassedError; readonly passing: boolean; readonly pauseMs: number | undefined };

async function once({ who, url, headers, body, explain, outgoing, signal }: Question): Promise<Outcome> {
  const ways = new Dispatchers(ANYWHERE, outgoing, MAX_ANSWER_MS);
  try {
    const posted = body === undefined || typeof body === 'string' ? body : new FormData();
    if (typeof body === 'object' && typeof posted === 'object')
      for (const [name, value] of Object.entries(body)) posted.set(name, value);
    const response = await fetch(url, {
      dispatcher: await ways.to(new URL(url)),
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
        `${who} answered with status ${response.status}${explained === undefined ? '' : ` (${explained.hint})`}: ` +
          shown(wordsOf(text)),
      ),
      passing: PASSING.has(response.status) && explained?.final !== true,
      pauseMs: Number.isFinite(pause) ? pause : undefined,
    };
  } catch (error) {
    if (signal.aborted) throw abortedError(signal);
    if (error instanceof ClassedError) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why =
      cause instanceof Error
        ? 'code' in cause && cause.code === 'ECONNREFUSED'
          ? 'nothing answers there'
          : cause.message
        : String(cause);
    return {
      error: new ClassedError('tool_error', `${who} cannot be reached: ${why}.`, { cause: error }),
      passing: true,
      pauseMs: undefined,
    };
  } finally {
    await ways.end();
  }
}

/** What an answer of JSON says in words, by the keys that services have for it; else its text. */
function wordsOf(text: string): string {
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
    if (size > MAX_ANSWER) throw new ClassedError('tool_error', `The answer has more than ${MAX_ANSWER} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function shown(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line === '' ? 'no text' : line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
}
