/**
 * Requests to addresses of users: notifications, callbacks, collectors, engines, metrics, models, descriptions. They go
 * through the proxies of this process, and trust what it trusts.
 */
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { Agent, type Dispatcher, request } from 'undici';
import { trustSystemAfter, trustsSystem } from './outbound.ts';
import { outboundConnect } from './undiciConnector.ts';

const CONNECT_MS = 10_000;
const MAX_REDIRECTS = 5;
/** These repeat the request as it was; after others, clients send a GET, which delivers nothing. */
const SAME_REQUEST: ReadonlySet<number> = new Set([307, 308]);
const SAME_GET: ReadonlySet<number> = new Set([301, 302, 303, ...SAME_REQUEST]);
/** Headers with credentials are for one server. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-api-key',
  'api-key',
]);

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
  /** Reads the body. Whoever does not need it calls `drop`. Throws RangeError if it is longer than `maxBytes`. */
  text(maxBytes?: number): Promise<string>;
  drop(): Promise<void>;
}

let agent: Agent | undefined;

/** Returns what connects all of these requests. */
export function outboundAgent(): Agent {
  return (agent ??= new Agent({ connect: outboundConnect(CONNECT_MS), headersTimeout: 0, bodyTimeout: 0 }));
}

/** Returns the response of any status, before its body was read. `signal` ends both. */
export async function outboundRequest(url: string, options: OutboundRequest): Promise<OutboundResponse> {
  const bytes = options.body instanceof Blob ? Buffer.from(await options.body.arrayBuffer()) : options.body;
  const body = bytes instanceof ReadableStream ? Readable.from(bytes) : (bytes ?? null);
  const repeats = options.method === 'GET' ? SAME_GET : SAME_REQUEST;
  let at = url;
  let { headers = {} } = options;
  for (let redirects = 0; ; redirects++) {
    const response = await trusted(at, { ...options, headers }, body);
    const { location } = response.headers;
    const isFollowed = options.redirects === true && repeats.has(response.statusCode);
    if (!isFollowed || typeof location !== 'string' || body instanceof Readable || redirects === MAX_REDIRECTS)
      return responseOf(response);
    await response.body.dump();
    const next = new URL(location, at);
    if (next.origin !== new URL(at).origin)
      headers = Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIALS.has(name.toLowerCase())));
    at = next.href;
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
      dispatcher: outboundAgent(),
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
    text: async (maxBytes = Infinity) => {
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxBytes) throw new RangeError(`The response is larger than ${maxBytes} bytes.`);
        chunks.push(chunk);
      }
      return new TextDecoder().decode(Buffer.concat(chunks));
    },
    drop: async () => {
      if (body.closed) return;
      const closed = once(body, 'close').catch(() => undefined); // it may end with an error, which nobody needs
      body.on('error', () => undefined);
      body.destroy();
      await closed;
    },
  };
}
