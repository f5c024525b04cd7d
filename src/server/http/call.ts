/** An HTTP request as passed to a route, and its parsing. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { Identity } from '../access/tokens.ts';

/** Largest JSON body. Fits a page of a thousand tasks with long questions and world states. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;

export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The caller; undefined for a route that is open to everyone. */
  readonly identity: Identity | undefined;
  /** Values of the `:name` parts of the route's path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** What the audit log says about the call, apart from who made it. Handlers add what they know. */
  readonly about: { what?: string; batch?: string; detail?: string };
  /** Aborts when the client disconnects before it has the response. */
  readonly signal: AbortSignal;
}

/** Reads and parses the body. Throws `too_large` or `usage`. */
export async function readJson<T>(call: Call, schema: z.ZodType<T>, most = MAX_JSON_BYTES): Promise<T> {
  const text = await readText(call.request, most);
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (cause) {
    throw new StudioError('usage', 'The request body is not JSON.', { cause });
  }
  return parse(schema, raw, 'the request body');
}

export function parse<T>(schema: z.ZodType<T>, raw: unknown, what: string): T {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({
    path: issue.path.map(String).join('.'),
    message: issue.message,
  }));
  const first = issues[0];
  throw new StudioError(
    'usage',
    `Invalid value in ${what}: ` +
      `${first === undefined || first.path === '' ? '' : `${first.path}: `}${first?.message ?? ''}.`,
    { details: { issues: issues.slice(0, 20) } },
  );
}

async function readText(request: IncomingMessage, most: number): Promise<string> {
  return (await readBytes(request, most)).toString('utf8');
}

/** Reads a body of at most `most` bytes. Throws `too_large`. */
export async function readBytes(request: IncomingMessage, most = MAX_JSON_BYTES): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge(most);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > most) throw tooLarge(most);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function tooLarge(most: number): StudioError {
  return new StudioError('too_large', `The request body is larger than ${most} bytes.`, {
    hint: 'Send it in smaller parts.',
  });
}

/** Returns a `:name` part of the path. */
export function param(call: Call, name: string): string {
  const value = call.params[name];
  if (value === undefined) throw new StudioError('internal', `The route has no parameter “${name}”.`);
  return value;
}

/** Returns a whole number from the query string. Throws `usage`. */
export function wholeQuery(call: Call, name: string, bounds: { least: number; most: number }): number | undefined {
  const text = call.query.get(name);
  if (text === null) return undefined;
  const value = Number(text);
  if (text === '' || !Number.isSafeInteger(value) || value < bounds.least)
    throw new StudioError(
      'usage',
      `“${name}” must be a whole number of at least ${bounds.least}, not “${text.slice(0, 50)}”.`,
    );
  return Math.min(value, bounds.most);
}

/** Returns the `limit` of a page. */
export function limitQuery(call: Call, otherwise: number, most: number): number {
  return wholeQuery(call, 'limit', { least: 1, most }) ?? otherwise;
}
