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
  type WireReply,
  type WireRequest,
} from '../protocol/transport.ts';

/** Creates an HTTP transport. `address` is called for every request, because a restarted server has another port. */
export function nodeTransport(address: () => ServerAddress): Required<Transport> {
  return {
    async request(request) {
      const server = address();
      try {
        return await send(request, server);
      } catch (error) {
        throw StudioError.is(error) ? error : requestError(error, request, server);
      }
    },
    async stream(request) {
      const server = address();
      const failure = (error: unknown): StudioError =>
        StudioError.is(error) ? error : requestError(error, request, server);
      const reply = await open(request, server).catch((error: unknown) => {
        throw failure(error);
      });
      return {
        status: reply.statusCode ?? 0,
        text: async () => (await buffer(reply)).toString('utf8'),
        pieces: async function* () {
          const decoder = new TextDecoder();
          try {
            for await (const chunk of reply as AsyncIterable<Buffer>) yield decoder.decode(chunk, { stream: true });
          } catch (error) {
            throw failure(error);
          } finally {
            reply.destroy();
          }
        },
      };
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

/** Sends a request on a connection of its own, and returns its response before it has been read. */
async function open(request: WireRequest, address: ServerAddress): Promise<IncomingMessage> {
  const { method, path, signal } = request;
  const url = address.url + path;
  const options = { method, headers: requestHeaders(request, address), ...(signal === undefined ? {} : { signal }) };
  const sent = url.startsWith('https:')
    ? https.request(url, { ...options, ...(address.ca === undefined ? {} : { ca: address.ca }) })
    : http.request(url, options);
  const response = once(sent, 'response');
  sent.end();
  const [reply] = (await response) as [IncomingMessage];
  return reply;
}

async function send(request: WireRequest, address: ServerAddress): Promise<WireReply> {
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
    if (request.stream === true)
      return {
        status: reply.statusCode ?? 0,
        text: async () => (await buffer(reply)).toString('utf8'),
        bytes: async () => new Uint8Array(await buffer(reply)),
        chunks: () => reply as AsyncIterable<Uint8Array>,
      };
    const bytes = await buffer(reply);
    return {
      status: reply.statusCode ?? 0,
      text: () => Promise.resolve(bytes.toString('utf8')),
      bytes: () => Promise.resolve(new Uint8Array(bytes)),
    };
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
