/**
 * HTTP to the endpoints, with undici's dispatcher: for model calls, and as the `fetch` of the `openai` package. Web
 * streams cost more per chunk than everything else together, so a body goes from the socket directly to its reader; a
 * Response only carries status and headers, and `bodyOf` returns its body.
 */

import type { Dispatcher } from 'undici';
import { Agent } from 'undici';
import { connectOptions } from '../../net/undiciConnector.ts';

/** A body that is being received. Chunks that arrive before `pipe` are buffered. */
export interface IncomingBody {
  /**
   * Passes all bytes to the reader, those that arrive together in one piece. Resolves at the end of the body; rejects
   * if it is cut off, once the reader has what arrived. Call this only once.
   */
  pipe(sink: (bytes: Buffer) => void): Promise<void>;
}

/** How long an endpoint may be silent while it streams a reply. */
export const SILENCE_MS = 300_000;

export interface TransportOptions {
  /** Time limit for the status line: an endpoint may queue requests for long, but a dead peer must be detected. */
  readonly headersTimeoutMs?: number;
  /** Maximum silence within a body. */
  readonly bodyTimeoutMs?: number;
  /** How long a reply that is not streamed may take. Default: by its maximum length. */
  readonly wholeReplyMs?: number;
}

/** A response that is not 2xx, read completely. */
export class EndpointRefusal extends Error {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;

  constructor(status: number, headers: Headers, body: string) {
    // The openai package searches the text of errors from fetch for “timeout”, so the body is not part of it.
    super(`HTTP ${status}`);
    this.name = 'EndpointRefusal';
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

/** Where a request goes. */
export interface PostTarget {
  readonly origin: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

type RawHeaders = Record<string, string | string[] | undefined>;

/** A 2xx response whose body is being received. */
export interface IncomingResponse {
  readonly status: number;
  /** Names are lower-case. */
  readonly headers: Readonly<RawHeaders>;
  readonly body: IncomingBody;
}

/** A request and its response. */
export interface Exchange {
  /** Rejects with EndpointRefusal for a response that is not 2xx. */
  readonly response: Promise<IncomingResponse>;
  /** Ends it. Does nothing if it has ended. */
  abort(reason?: unknown): void;
}

export class Transport {
  readonly #agent: Agent;
  readonly #bodies = new WeakMap<Response, IncomingBody>();

  constructor(options: TransportOptions = {}) {
    this.#agent = new Agent({
      // One call at a time per connection, with as many connections as calls: a streamed response blocks its
      // connection.
      pipelining: 1,
      connections: null,
      // Less than the 5 s after which uvicorn closes an idle connection.
      keepAliveTimeout: 4_000,
      headersTimeout: options.headersTimeoutMs ?? 1_800_000,
      bodyTimeout: options.bodyTimeoutMs ?? SILENCE_MS,
      connect: connectOptions(10_000),
    });
  }

  /**
   * Sends a request whose body is JSON text. Model calls use it directly: `fetch`, `Request`, and `Response` cost more
   * than the rest of a call.
   */
  post(target: PostTarget, json: string | Buffer, signal: AbortSignal): Exchange {
    return this.#dispatch(target, 'POST', json, signal);
  }

  /**
   * The `fetch` for the `openai` package. Resolves only with a 2xx response, whose body is empty here (see `bodyOf`);
   * other responses are thrown as EndpointRefusal.
   */
  readonly fetch = async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const target = new URL(url instanceof Request ? url.url : String(url));
    const { response } = this.#dispatch(
      { origin: target.origin, path: target.pathname + target.search, headers: plainHeaders(init.headers) },
      methodOf(init.method),
      // The openai package sends JSON text.
      typeof init.body === 'string' ? init.body : null,
      init.signal ?? undefined,
    );
    const { status, headers, body } = await response;
    const answer = new Response(null, { status, headers: toHeaders(headers) });
    this.#bodies.set(answer, body);
    return answer;
  };

  /** Returns the body of a 2xx response of `fetch`. */
  bodyOf(response: Response): IncomingBody {
    const body = this.#bodies.get(response);
    if (body === undefined) throw new TypeError('this response did not come through this transport');
    return body;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #dispatch(
    { origin, path, headers }: PostTarget,
    method: Dispatcher.HttpMethod,
    content: string | Buffer | null,
    signal: AbortSignal | undefined,
  ): Exchange {
    const body = new Body();
    let controller: Dispatcher.DispatchController | undefined;
    let ended: unknown;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingResponse>();
    const abort = (reason: unknown = signal?.reason): void => {
      if (ended !== undefined) return;
      const why = reason instanceof Error ? reason : new DOMException('aborted', 'AbortError');
      settled(why);
      controller?.abort(why);
      body.fail(why);
      reject(why);
    };
    const onAbort = (): void => abort();
    const settled = (why: unknown): void => {
      ended = why;
      signal?.removeEventListener('abort', onAbort);
    };
    const exchange = { response: promise, abort };
    if (signal?.aborted === true) {
      abort();
      return exchange;
    }
    signal?.addEventListener('abort', onAbort, { once: true });
    let status = 0;
    let received: RawHeaders = {};
    try {
      this.#agent.dispatch(
        { origin, path, method, headers, body: content },
        {
          onRequestStart(started) {
            controller = started;
            if (ended !== undefined) started.abort(ended instanceof Error ? ended : new Error('aborted'));
          },
          onResponseStart: (_, code, raw) => {
            status = code;
            received = raw;
            if (code >= 200 && code <= 299) resolve({ status, headers: raw, body });
          },
          onResponseData(_, chunk) {
            body.push(chunk);
          },
          onResponseEnd() {
            settled('done');
            body.end();
            if (status < 200 || status > 299) reject(new EndpointRefusal(status, toHeaders(received), body.text()));
          },
          onResponseError(_, error) {
            settled(error);
            body.fail(error);
            reject(error);
          },
        },
      );
    } catch (error) {
      // An invalid address.
      abort(error);
    }
    return exchange;
  }
}

class Body implements IncomingBody {
  #waiting: Buffer[] = [];
  /** Whether what waits is passed on after this turn. */
  #soon = false;
  #sink: ((bytes: Buffer) => void) | undefined;
  #state: 'open' | 'ended' | 'failed' = 'open';
  #error: unknown;
  #settle: { resolve: () => void; reject: (error: unknown) => void } | undefined;

  /**
   * An endpoint that is faster than we are sends many chunks of a reply at once. They come one by one from the parser
   * of the connection, in the same turn; a reader needs much less time for all of them than for each.
   */
  push(chunk: Buffer): void {
    this.#waiting.push(chunk);
    if (this.#sink === undefined || this.#soon) return;
    this.#soon = true;
    process.nextTick(() => {
      this.#soon = false;
      this.#deliver();
    });
  }

  end(): void {
    this.#deliver();
    if (this.#state !== 'open') return;
    this.#state = 'ended';
    this.#settle?.resolve();
  }

  fail(error: unknown): void {
    this.#deliver();
    if (this.#state === 'open') this.#break(error);
  }

  #break(error: unknown): void {
    this.#state = 'failed';
    this.#error = error;
    this.#settle?.reject(error);
  }

  pipe(sink: (bytes: Buffer) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#sink = sink;
      this.#deliver();
      if (this.#state === 'ended') resolve();
      else if (this.#state === 'failed') reject(this.#error);
    });
  }

  text(): string {
    return Buffer.concat(this.#waiting).toString('utf8');
  }

  /** An error of the reader ends the reading (also of a complete body), not the parser of the connection. */
  #deliver(): void {
    const [first] = this.#waiting;
    if (this.#sink === undefined || first === undefined) return;
    const bytes = this.#waiting.length === 1 ? first : Buffer.concat(this.#waiting);
    this.#waiting = [];
    try {
      this.#sink(bytes);
    } catch (error) {
      this.#sink = () => undefined;
      this.#break(error);
    }
  }
}

/** Why llm-d's router did not pass a request on, such as `rejected-saturated`. */
export const DROPPED_HEADER = 'x-llm-d-request-dropped-reason';

/** The only response headers that are used. The others would be copied and sorted for nothing. */
const READ_HEADERS = ['content-type', 'retry-after', 'x-request-id', DROPPED_HEADER] as const;

function methodOf(method: string | undefined): Dispatcher.HttpMethod {
  return method?.toUpperCase() === 'GET' || method === undefined ? 'GET' : 'POST';
}

function plainHeaders(headers: RequestInit['headers']): Record<string, string> {
  return Object.fromEntries(headers instanceof Headers ? headers : new Headers(headers));
}

function toHeaders(raw: Readonly<RawHeaders>): Headers {
  const headers = new Headers();
  for (const name of READ_HEADERS) {
    const value = raw[name];
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return headers;
}
