/**
 * Requests to addresses of users: notifications, callbacks, collectors, engines, metrics. They go through the proxies
 * of this process, and trust what it trusts.
 */
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import { trustSystemAfter, trustsSystem } from './outbound.ts';
import { outboundConnect } from './undiciConnector.ts';

const CONNECT_MS = 10_000;
const MAX_REDIRECTS = 3;
/** These repeat the request as it was; after others, clients send a GET, which delivers nothing. */
const SAME_REQUEST = new Set([307, 308]);

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream is sent once: it cannot follow a redirection. */
  readonly body?: string | Blob | ReadableStream<Uint8Array>;
  /** Whether a redirection is followed, if it repeats the request. */
  readonly redirects?: boolean;
  readonly signal: AbortSignal;
}

export interface OutboundResponse {
  readonly status: number;
  readonly ok: boolean;
  header(name: string): string | undefined;
  /** Reads the body. Whoever does not need it calls `drop`. */
  text(): Promise<string>;
  drop(): Promise<void>;
}

let agent: Agent | undefined;

/** Returns the response of any status, before its body was read. `signal` ends both. */
export async function outboundRequest(url: string, options: OutboundRequest): Promise<OutboundResponse> {
  const bytes = options.body instanceof Blob ? Buffer.from(await options.body.arrayBuffer()) : options.body;
  const body = bytes instanceof ReadableStream ? Readable.from(bytes) : (bytes ?? null);
  let at = url;
  for (let redirects = 0; ; redirects++) {
    const response = await trusted(at, options, body);
    const { location } = response.headers;
    const isFollowed = options.redirects === true && SAME_REQUEST.has(response.statusCode);
    if (!isFollowed || typeof location !== 'string' || body instanceof Readable || redirects === MAX_REDIRECTS)
      return responseOf(response);
    await response.body.dump();
    at = new URL(location, at).href;
  }
}

/** Sends a request, and once more if an authority of the operating system may help. */
async function trusted(
  url: string,
  { method, headers = {}, signal }: OutboundRequest,
  body: string | Buffer | Readable | null,
): Promise<Dispatcher.ResponseData> {
  const before = trustsSystem();
  const send = async (): Promise<Dispatcher.ResponseData> =>
    await request(url, {
      dispatcher: (agent ??= new Agent({ connect: outboundConnect(CONNECT_MS), headersTimeout: 0, bodyTimeout: 0 })),
      method,
      headers: { ...headers },
      body,
      signal,
    });
  try {
    return await send();
  } catch (error) {
    if (body instanceof Readable || signal.aborted || !trustSystemAfter(error, before)) throw error;
    return await send();
  }
}

function responseOf({ statusCode, headers, body }: Dispatcher.ResponseData): OutboundResponse {
  return {
    status: statusCode,
    ok: statusCode >= 200 && statusCode < 300,
    header: (name) => {
      const value = headers[name.toLowerCase()];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    text: () => body.text(),
    drop: async () => {
      if (body.closed) return;
      const closed = once(body, 'close').catch(() => undefined); // it may end with an error, which nobody needs
      body.on('error', () => undefined);
      body.destroy();
      await closed;
    },
  };
}
