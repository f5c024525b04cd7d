/** Matches requests to routes by method and path, and checks who may call them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { StudioError } from '../../common/errors.ts';
import type { Right } from '../../protocol/access.ts';
import { requireRight } from '../access/rights.ts';
import { type Identity, notSession } from '../access/tokens.ts';
import type { Call } from './call.ts';
import { sendJson } from './reply.ts';

/** A route of a server. What it needs is in one table, see `ROUTE_RIGHTS`. */
export interface RouteHandler {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT';
  readonly path: string;
  /**
   * Workers may call it too: with the enrollment token of a batch, or with the token of an open session. The handler
   * checks which objects a session may access.
   */
  readonly workers?: 'enrollment' | 'session';
  /** Returns the response body, sent as JSON; undefined if it has responded itself. */
  handle(call: Call): unknown;
}

export interface Route extends RouteHandler {
  readonly access: 'anyone' | Right;
}

interface RouteMatch {
  readonly route: Route;
  readonly params: Record<string, string>;
}

type Refused = (route: Route, caller: Identity, params: Call['params'], error: unknown) => Promise<void>;

export class Router {
  readonly #byLength = new Map<number, { route: Route; parts: readonly string[] }[]>();

  readonly #unchangeable: StudioError | undefined;
  readonly #refused: Refused | undefined;

  /**
   * `unchangeable`: the error of calls that may change something, if nothing can be changed. `refused`: is told of
   * callers that lack a right.
   */
  constructor(routes: readonly Route[], unchangeable?: StudioError, refused?: Refused) {
    this.#unchangeable = unchangeable;
    this.#refused = refused;
    for (const route of routes) {
      const parts = route.path.split('/');
      const same = this.#byLength.get(parts.length) ?? [];
      same.push({ route, parts });
      this.#byLength.set(parts.length, same);
    }
  }

  /** `who` is called only for routes that are not open to everyone. It throws when the caller is unknown. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    authenticate: () => Promise<Identity>,
  ): Promise<void> {
    const { route, params } = this.#find(request.method ?? '', url.pathname);
    const caller = route.access === 'anyone' ? undefined : await authenticate();
    try {
      if (caller !== undefined) authorize(route, caller);
    } catch (error) {
      if (caller !== undefined) await this.#refused?.(route, caller, params, error);
      throw error;
    }
    const mayChange = route.access !== 'anyone' && route.access !== 'read' && route.method !== 'GET';
    if (mayChange && this.#unchangeable !== undefined) throw this.#unchangeable;
    const aborted = new AbortController();
    response.once('close', () => {
      if (!response.writableEnded) aborted.abort();
    });
    const answer = await route.handle({
      request,
      response,
      identity: caller,
      params,
      query: url.searchParams,
      about: {},
      signal: aborted.signal,
    });
    if (answer === undefined) return;
    sendJson(response, 200, answer instanceof JsonText ? { text: answer.text } : { value: answer });
  }

  #find(method: string, pathname: string): RouteMatch {
    const parts = pathname.split('/');
    let isPathKnown = false;
    for (const candidate of this.#byLength.get(parts.length) ?? []) {
      const params = match(candidate.parts, parts);
      if (params === undefined) continue;
      if (candidate.route.method === method) return { route: candidate.route, params };
      isPathKnown = true;
    }
    if (isPathKnown) throw new StudioError('usage', `${pathname} does not support ${method}.`);
    throw new StudioError('not_found', `No such path: ${pathname.slice(0, 200)}.`);
  }
}

/** A response body that is serialized already. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

function match(pattern: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  for (let i = 0; i < pattern.length; i++) {
    const expected = pattern[i] ?? '';
    const actual = parts[i] ?? '';
    if (!expected.startsWith(':')) {
      if (expected !== actual) return undefined;
      continue;
    }
    const value = decoded(actual);
    if (value === undefined || value === '') return undefined;
    params[expected.slice(1)] = value;
  }
  return params;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

function authorize(route: Route, caller: Identity): void {
  if (caller.kind !== 'client') {
    if (route.workers === caller.kind) return;
    throw route.workers === 'session'
      ? notSession()
      : new StudioError('forbidden', 'Workers are not allowed to do this.');
  }
  if (route.access !== 'anyone') requireRight(caller, route.access);
}
