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
export function nodeTransport(address: () => ServerAddress): Transport {
  return {
    async request(request) {
      const server = address();
      try {
        return await send(request, server);
      } catch (error) {
        throw StudioError.is(error) ? error : requestError(error, request, server);
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
