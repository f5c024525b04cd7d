/** Transports for requests: directly over HTTP, through the host of a webview, or from the data of a saved page. */
import { StudioError } from '../common/errors.ts';

export interface ServerAddress {
  /** `http://127.0.0.1:4711`, without a slash at the end. */
  readonly url: string;
  readonly token: string;
  /** Certificates (PEM) to trust instead of the default ones. Supported only in Node.js. */
  readonly ca?: string;
}

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export type BlobBytes = Uint8Array | (() => AsyncIterable<Uint8Array>);

export interface WireRequest {
  readonly method: string;
  /** Starts with `/v1/` and includes the query. */
  readonly path: string;
  /** Text is JSON, bytes are a blob. A function returns those of a large blob, again for every attempt. */
  readonly body?: string | BlobBytes;
  /** Byte range of a blob, both ends inclusive. A transport without ranges returns the whole blob. */
  readonly range?: ByteRange;
  readonly signal?: AbortSignal;
}

export interface WireReply {
  readonly status: number;
  text(): Promise<string>;
  bytes(): Promise<Uint8Array>;
}

/** A response that is read while it arrives. */
export interface WireStream {
  readonly status: number;
  text(): Promise<string>;
  /** Yields its bytes. Throws StudioError `cancelled` when the request is aborted, `unavailable` if it is cut. */
  chunks(): AsyncIterable<Uint8Array>;
}

export interface Transport {
  /**
   * Returns a response with any status. Throws StudioError `unavailable` without a response, `cancelled` when the
   * signal aborted.
   */
  request(request: WireRequest): Promise<WireReply>;
  /** Returns a response that may go on for long. Absent: the transport only has whole responses. */
  stream?(request: WireRequest): Promise<WireStream>;
}

/** Creates an HTTP transport. `address` is called for every request, because a restarted server has another port. */
export function fetchTransport(address: () => ServerAddress): Transport {
  return {
    async request(request) {
      const { method, path, body, signal } = request;
      const server = address();
      try {
        const response = await fetch(server.url + path, {
          method,
          headers: requestHeaders(request, server),
          ...(body === undefined ? {} : { body: await bodyOf(body) }),
          ...(signal === undefined ? {} : { signal }),
          ...(server.token === '' ? { redirect: 'manual' } : {}),
        });
        if (response.type === 'opaqueredirect') throw signInAgain();
        return {
          status: response.status,
          text: () => response.text(),
          bytes: async () => new Uint8Array(await response.arrayBuffer()),
        };
      } catch (error) {
        throw StudioError.is(error) ? error : requestError(error, request, server);
      }
    },
  };
}

/** The proxy in front of the server sends users who are not signed in to another page. */
function signInAgain(): StudioError {
  return new StudioError('unauthorized', 'Your session has ended.', { hint: 'Reload the page to sign in again.' });
}

/** Over HTTP/1.1, `fetch` does not stream what it sends. */
async function bodyOf(body: string | BlobBytes): Promise<NonNullable<RequestInit['body']>> {
  if (typeof body === 'string') return body;
  if (typeof body !== 'function') return new Uint8Array(body);
  return new Blob((await Array.fromAsync(body())).map((chunk) => new Uint8Array(chunk)));
}

/** Returns the headers of a request over HTTP. */
export function requestHeaders({ body, range }: WireRequest, { token }: ServerAddress): Record<string, string> {
  return {
    // Without a token, a proxy in front of the server says who the user is.
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined
      ? {}
      : { 'content-type': typeof body === 'string' ? 'application/json' : 'application/octet-stream' }),
    ...(range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` }),
  };
}

/** Returns the error of a request without a response: `cancelled` if its signal aborted, else `unavailable`. */
export function requestError(error: unknown, { signal }: WireRequest, { url, ca }: ServerAddress): StudioError {
  if (signal?.aborted === true)
    return new StudioError('cancelled', 'The request was cancelled.', { cause: signal.reason });
  return new StudioError('unavailable', `The rollout server at ${url} does not respond.`, {
    hint:
      ca === undefined
        ? 'Run the command again. It starts the server if none is running.'
        : 'Try again when it is reachable.',
    cause: error,
  });
}
