/** Questions to services that the user has named: search APIs and model endpoints. */
import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import { jsonOf } from '../../common/json.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { abortedError } from '../aborted.ts';

export interface Question {
  /** The service, for people. Its address is told to nobody: a key may be in it. */
  readonly who: string;
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Posted. Made anew for each try. */
  readonly body?: () => string | FormData;
  /** What else is to be said of a status. */
  readonly hints?: Readonly<Record<number, string>>;
  readonly signal: AbortSignal;
}

const TRIES = 3;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const LARGEST_ANSWER = 16 * 1024 * 1024;
const SHOWN = 300;
/** The service is busy or away for the moment. */
const PASSING = new Set([429, 502, 503, 504]);

/** The answer, as `schema` wants it. What passes by itself is waited for. Throws ClassedError: `tool_error`, or as the signal says. */
export async function ask<T extends z.ZodType>(question: Question, schema: T): Promise<z.output<T>> {
  const { who, signal } = question;
  for (let turn = 1; ; turn++) {
    const outcome = await once(question);
    if ('text' in outcome) {
      const checked = schema.safeParse(jsonOf(outcome.text));
      if (!checked.success) throw new ClassedError('tool_error', `${who} gave an answer that is not understood: ${shown(outcome.text)}`);
      return checked.data;
    }
    if (!outcome.passing || turn === TRIES) throw outcome.error;
    await delay(Math.min(LONGEST_PAUSE_MS, outcome.pauseMs ?? FIRST_PAUSE_MS * 2 ** turn), undefined, { signal }).catch(() => { throw abortedError(signal); });
  }
}

type Outcome = { readonly text: string } | { readonly error: ClassedError; readonly passing: boolean; readonly pauseMs: number | undefined };

async function once({ who, url, headers, body, hints, signal }: Question): Promise<Outcome> {
  try {
    const posted = body?.();
    const response = await fetch(url, {
      method: posted === undefined ? 'GET' : 'POST', signal,
      headers: { accept: 'application/json', ...(typeof posted === 'string' ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(posted === undefined ? {} : { body: posted }),
    });
    const text = await read(response);
    if (response.ok) return { text };
    const hint = hints?.[response.status];
    const pause = Number(response.headers.get('retry-after') ?? Number.NaN) * 1000;
    return {
      error: new ClassedError('tool_error', `${who} answered with status ${response.status}${hint === undefined ? '' : ` (${hint})`}: ${shown(text)}`),
      passing: PASSING.has(response.status), pauseMs: Number.isFinite(pause) ? pause : undefined,
    };
  } catch (error) {
    if (signal.aborted) throw abortedError(signal);
    if (error instanceof ClassedError) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? ('code' in cause && cause.code === 'ECONNREFUSED' ? 'nothing answers there' : cause.message) : String(cause);
    return { error: new ClassedError('tool_error', `${who} cannot be reached: ${why}.`, { cause: error }), passing: true, pauseMs: undefined };
  }
}

async function read(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > LARGEST_ANSWER) throw new ClassedError('tool_error', `The answer has more than ${LARGEST_ANSWER} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function shown(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line === '' ? 'no text' : line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
}
