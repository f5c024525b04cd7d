/** The HTTP server of `rollout gym`: routes, bodies, and errors. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { z } from 'zod';
import { type ErrorCode, errorText, StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';
import { HTTP_STATUS } from '../protocol/httpStatus.ts';

/** A body with the messages of a long task fits. Metrics come without messages. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** NeMo Gym's client keeps connections: one that ends as it sends costs it a retry. */
const KEEP_ALIVE_MS = 75_000;

export interface Request {
  /** The parts of the path that the route leaves open, decoded. */
  readonly params: readonly string[];
  /** Aborts when the client disconnects before it has the answer. */
  readonly signal: AbortSignal;
  /** Reads and checks the body. Throws `too_large` or `usage`. */
  readonly read: <T>(schema: z.ZodType<T>) => Promise<T>;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: RegExp;
  /** Returns the answer, and what to do once the client has it. */
  answer(request: Request): Promise<Answer>;
}

interface Answer {
  readonly body: Json | object;
  readonly delivered?: () => void;
}

/** As FastAPI, NeMo Gym's own servers answer 422 to a body that does not fit. */
const STATUS: Readonly<Record<ErrorCode, number>> = {
  ...HTTP_STATUS,
  usage: 422,
  config: 422,
  unsupported: 422,
  version: 422,
};

export interface GymServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Listens. `port`: 0 selects a free one. Throws StudioError `unavailable`. */
export async function listen(
  { host, port }: { readonly host: string; readonly port: number },
  routes: readonly Route[],
  log: (text: string) => void,
): Promise<GymServer> {
  const server = createServer((request, response) => {
    void serve(request, response, routes, isLoopback(host), log);
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new StudioError('unavailable', `Cannot listen on ${host}, port ${port}: ${errorText(cause)}.`, {
      hint: 'Choose another port with --port.',
      cause,
    });
  }
  const { address, port: listening } = server.address() as AddressInfo;
  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${listening}`,
    close: () => closed(server),
  };
}

async function closed(server: Server): Promise<void> {
  const over = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await over;
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  routes: readonly Route[],
  onlyLocal: boolean,
  log: (text: string) => void,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new StudioError('cancelled', 'The client is gone.'));
  });
  try {
    refuseWebPages(request, onlyLocal);
    const { route, params } = found(request, routes);
    const answer = await route.answer({
      params,
      signal: gone.signal,
      read: (schema) => readBody(request, schema),
    });
    if (gone.signal.aborted) return;
    if (answer.delivered !== undefined) response.once('finish', answer.delivered);
    send(response, 200, answer.body);
  } catch (error) {
    if (gone.signal.aborted) return;
    const status = StudioError.is(error) ? STATUS[error.code] : 500;
    if (status >= 500) log(`${request.method ?? ''} ${request.url ?? ''}: ${errorText(error)}`);
    // What is left of the body is not read: the connection cannot be used again.
    if (!request.complete) response.setHeader('connection', 'close');
    send(response, status, { error: errorBody(error) });
  }
}

function send(response: ServerResponse, status: number, body: Json | object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(text);
}

function errorBody(error: unknown): { code: string; message: string; hint?: string } {
  if (!StudioError.is(error)) return { code: 'internal', message: errorText(error) };
  const { code, message, hint } = error;
  return { code, message, ...(hint === undefined ? {} : { hint }) };
}

function found(request: IncomingMessage, routes: readonly Route[]): { route: Route; params: string[] } {
  const [path = '/'] = (request.url ?? '/').split('?');
  const at = routes.flatMap((route) => {
    const match = route.path.exec(path);
    return match === null ? [] : [{ route, params: match.slice(1).map(decoded) }];
  });
  const one = at.find(({ route }) => route.method === request.method);
  if (one !== undefined) return one;
  throw new StudioError('not_found', `There is no ${request.method ?? ''} ${path.slice(0, 200)} here.`, {
    hint:
      'Available: POST /run, /aggregate_metrics, /seed_session, /sessions/<id>/tools/<name>, /sessions/<id>/verify; ' +
      'DELETE /sessions/<id>.',
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new StudioError('usage', `The path has an invalid escape: ${text.slice(0, 200)}.`, { cause });
  }
}

/** Trainers are no web pages: those reach loopback too, also by a name that leads there (DNS rebinding). */
function refuseWebPages({ headers }: IncomingMessage, onlyLocal: boolean): void {
  const name = (headers.host ?? '').replace(/:\d+$/, '');
  if (headers.origin === undefined && (!onlyLocal || isLoopback(name))) return;
  throw new StudioError('forbidden', 'Web pages, and other names of this machine, are refused.', {
    hint: 'Use the URL that rollout gym prints.',
  });
}

function isLoopback(host: string): boolean {
  return ['localhost', '[::1]', '::1'].includes(host) || /^127(?:\.\d{1,3}){3}$/.test(host);
}

async function readBody<T>(request: IncomingMessage, schema: z.ZodType<T>): Promise<T> {
  const text = await readText(request);
  let raw: unknown;
  try {
    raw = text === '' ? {} : JSON.parse(text);
  } catch (cause) {
    throw new StudioError('usage', 'The request body is not JSON.', { cause });
  }
  return checked(schema, raw, 'the request body');
}

/** Throws StudioError `usage`. */
export function checked<T>(schema: z.ZodType<T>, raw: unknown, what: string): T {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const place = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.map(String).join('.')}: `;
  throw new StudioError('usage', `Invalid value in ${what}: ${place}${issue?.message ?? ''}.`);
}

async function readText(request: IncomingMessage): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function tooLarge(): StudioError {
  return new StudioError('too_large', `The request body has more than ${MAX_BODY_BYTES / 2 ** 20} MiB.`);
}
