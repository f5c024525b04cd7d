/**
 * HTTP to the endpoints, with undici's dispatcher, passed to the `openai` package as its `fetch`. Web streams cost more
 * per chunk than everything else together, so a body goes from the socket directly to its reader, and the Response only
 * carries status and headers; `bodyOf` returns the body.
 */

import type { Dispatcher } from 'undici';
import { Agent } from 'undici';

/** A body that is being received. Chunks that arrive before `pipe` are buffered. */
export interface IncomingBody {
  /**
   * Passes every chunk to the reader. Resolves at the end of the body; rejects if it is cut off. Call this only once.
   */
  pipe(sink: (chunk: Buffer) => void): Promise<void>;
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

export class Transport {
  readonly #agent: Agent;
  readonly #bodies = new WeakMap<Response, Body>();
  readonly #headers = new WeakMap<Headers, Record<string, string>>();

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
      connect: { timeout: 10_000 },
    });
  }

  /**
   * The `fetch` for the `openai` package. Resolves only with a 2xx response, whose body is empty here (see `bodyOf`);
   * other responses are thrown as EndpointRefusal.
   */
  readonly fetch = (url: string | URL | Request, init?: RequestInit): Promise<Response> =>
    this.#send(url instanceof Request ? url.url : String(url), init ?? {});

  /** Returns the body of a 2xx response of `fetch`. */
  bodyOf(response: Response): IncomingBody {
    const body = this.#bodies.get(response);
    if (body === undefined) throw new TypeError('this response did not come through this transport');
    return body;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** Clients pass the same Headers object for every call. */
  #headersOf(init: RequestInit): Record<string, string> {
    const headers = init.headers instanceof Headers ? init.headers : new Headers(init.headers);
    let plain = this.#headers.get(headers);
    if (plain === undefined) this.#headers.set(headers, (plain = Object.fromEntries(headers)));
    return plain;
  }

  #send(url: string, init: RequestInit): Promise<Response> {
    return new Promise((resolve, reject) => {
      const target = new URL(url);
      const signal = init.signal ?? undefined;
      const body = new Body();
      let controller: Dispatcher.DispatchController | undefined;
      let status = 0;
      const onAbort = (): void => {
        const reason = signal?.reason instanceof Error ? signal.reason : new DOMException('aborted', 'AbortError');
        controller?.abort(reason);
        body.fail(reason);
        reject(reason);
      };
      const settled = (): void => signal?.removeEventListener('abort', onAbort);
      if (signal?.aborted === true) {
        onAbort();
        return;
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      let headers: Headers | undefined;
      this.#agent.dispatch(
        {
          origin: target.origin,
          path: target.pathname + target.search,
          method: methodOf(init.method),
          headers: this.#headersOf(init),
          // The openai package sends JSON text.
          body: typeof init.body === 'string' ? init.body : null,
        },
        {
          onRequestStart(started) {
            controller = started;
            if (signal?.aborted === true) onAbort();
          },
          onResponseStart: (_, code, raw) => {
            status = code;
            headers = toHeaders(raw);
            if (code < 200 || code > 299) return;
            const response = new Response(null, { status, headers });
            this.#bodies.set(response, body);
            resolve(response);
          },
          onResponseData(_, chunk) {
            body.push(chunk);
          },
          onResponseEnd() {
            settled();
            body.end();
            if (status < 200 || status > 299)
              reject(new EndpointRefusal(status, headers ?? new Headers(), body.text()));
          },
          onResponseError(_, error) {
            settled();
            body.fail(error);
            reject(error);
          },
        },
      );
    });
  }
}

class Body implements IncomingBody {
  #waiting: Buffer[] = [];
  #sink: ((chunk: Buffer) => void) | undefined;
  #state: 'open' | 'ended' | 'failed' = 'open';
  #error: unknown;
  #settle: { resolve: () => void; reject: (error: unknown) => void } | undefined;

  push(chunk: Buffer): void {
    if (this.#sink === undefined) this.#waiting.push(chunk);
    else this.#deliver(chunk);
  }

  end(): void {
    if (this.#state !== 'open') return;
    this.#state = 'ended';
    this.#settle?.resolve();
  }

  fail(error: unknown): void {
    if (this.#state === 'open') this.#break(error);
  }

  #break(error: unknown): void {
    this.#state = 'failed';
    this.#error = error;
    this.#settle?.reject(error);
  }

  pipe(sink: (chunk: Buffer) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#sink = sink;
      for (const chunk of this.#waiting.splice(0)) this.#deliver(chunk);
      if (this.#state === 'ended') resolve();
      else if (this.#state === 'failed') reject(this.#error);
    });
  }

  text(): string {
    return Buffer.concat(this.#waiting).toString('utf8');
  }

  /** An error of the reader ends the reading (also of a complete body), not the parser of the connection. */
  #deliver(chunk: Buffer): void {
    try {
      this.#sink?.(chunk);
    } catch (error) {
      this.#sink = () => undefined;
      this.#break(error);
    }
  }
}

/** The only response headers that are used. The others would be copied and sorted for nothing. */
const READ_HEADERS = ['content-type', 'retry-after', 'x-request-id'] as const;

function methodOf(method: string | undefined): Dispatcher.HttpMethod {
  return method?.toUpperCase() === 'GET' || method === undefined ? 'GET' : 'POST';
}

function toHeaders(raw: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers();
  for (const name of READ_HEADERS) {
    const value = raw[name];
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return headers;
}
