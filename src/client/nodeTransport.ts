/**
 * Sends requests to a server with `node:http` and `node:https`, which support a custom CA and load faster than
 * `fetch`: most commands make only a few requests.
 */
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { StudioError } from '../common/errors.ts';
import type * as Outbound from '../net/outbound.ts';
import {
  requestError,
  requestHeaders,
  type ServerAddress,
  type Transport,
  type WireRequest,
} from '../protocol/transport.ts';

/** Creates an HTTP transport. `address` is called for every request, because a restarted server has another port. */
export function nodeTransport(address: () => ServerAddress): Required<Transport> {
  return {
    async request(request) {
      const { status, whole } = await answered(request, address());
      const bytes = await whole();
      return {
        status,
        text: () => Promise.resolve(bytes.toString('utf8')),
        bytes: () => Promise.resolve(new Uint8Array(bytes)),
      };
    },
    async stream(request) {
      const { status, whole, chunks } = await answered(request, address());
      return { status, text: async () => (await whole()).toString('utf8'), chunks };
    },
  };
}

/** A response whose body has not been read. */
interface Answer {
  readonly status: number;
  readonly whole: () => Promise<Buffer>;
  readonly chunks: () => AsyncIterable<Uint8Array>;
}

async function answered(request: WireRequest, server: ServerAddress): Promise<Answer> {
  const failed = (error: unknown): never => {
    throw StudioError.is(error) ? error : requestError(error, request, server);
  };
  const reply = await send(request, server).catch(failed);
  return {
    status: reply.statusCode ?? 0,
    whole: () => buffer(reply).catch(failed),
    async *chunks() {
      try {
        yield* reply as AsyncIterable<Uint8Array>;
      } catch (error) {
        failed(error);
      } finally {
        reply.destroy();
      }
    },
  };
}

/** Shared by all requests: keep connections alive. */
const plain = new http.Agent({ keepAlive: true });
/** What servers with TLS need: proxies and authorities. Loaded with the first of them. */
let secure: Promise<Secure> | undefined;

interface Secure {
  readonly agent: https.Agent;
  readonly outbound: typeof Outbound;
}

async function loadSecure(): Promise<Secure> {
  const [{ serverAgent }, outbound] = await Promise.all([
    import('../net/serverAgent.ts'),
    import('../net/outbound.ts'),
  ]);
  return { agent: serverAgent({ keepAlive: true }), outbound };
}

/** Returns the response before its body has been read. */
async function send(request: WireRequest, address: ServerAddress): Promise<IncomingMessage> {
  const { method, path, body, signal } = request;
  const options = {
    method,
    ...(signal === undefined ? {} : { signal }),
    headers: requestHeaders(request, address),
  };
  const url = address.url + path;
  const tls = url.startsWith('https:') ? await (secure ??= loadSecure()) : undefined;
  const trusted = tls?.outbound.trustsSystem() ?? true;
  const sent =
    tls === undefined
      ? http.request(url, { ...options, agent: plain })
      : https.request(url, { ...options, agent: tls.agent, ...(address.ca === undefined ? {} : { ca: address.ca }) });
  const response = once(sent, 'response');
  // A server that refuses a body answers before it has received all of it.
  if (typeof body === 'function')
    pipeline(body(), sent).catch((error: unknown) => sent.destroy(error instanceof Error ? error : undefined));
  else sent.end(body);
  try {
    const [reply] = (await response) as [IncomingMessage];
    return reply;
  } catch (error) {
    // The server had closed this reused connection, so it never received the request.
    if (
      sent.reusedSocket &&
      signal?.aborted !== true &&
      error instanceof Error &&
      'code' in error &&
      error.code === 'ECONNRESET'
    )
      return send(request, address);
    const { ca } = address;
    if (ca === undefined && signal?.aborted !== true && tls?.outbound.trustSystemAfter(error, trusted) === true)
      return send(request, address);
    throw error;
  }
}
