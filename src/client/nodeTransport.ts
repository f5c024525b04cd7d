/**
 * Sends requests to a server: with `fetch`, or with `node:https` if the server has a custom CA, which `fetch` does not
 * support.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { StudioError } from '../common/errors.ts';
import {
  fetchTransport,
  type ServerAddress,
  type Transport,
  type WireReply,
  type WireRequest,
} from '../protocol/transport.ts';

/** Works like `fetchTransport` but also supports addresses with a custom CA. */
export function nodeTransport(address: () => ServerAddress): Transport {
  const fetching = fetchTransport(address);
  return {
    request: (request) => {
      const { url, token, ca } = address();
      return ca === undefined ? fetching.request(request) : requestWithCa(request, { url, token, ca });
    },
  };
}

/** Shared by all requests; keeps connections alive per CA. */
const agent = new Agent({ keepAlive: true });

async function requestWithCa(request: WireRequest, address: Required<ServerAddress>): Promise<WireReply> {
  const { signal } = request;
  try {
    return await send(request, address);
  } catch (error) {
    if (signal?.aborted === true) throw new StudioError('cancelled', 'The request was cancelled.', { cause: error });
    throw new StudioError('unavailable', `The rollout server at ${address.url} does not respond.`, {
      hint: 'Try again when it is reachable.',
      cause: error,
    });
  }
}

async function send(request: WireRequest, address: Required<ServerAddress>): Promise<WireReply> {
  const { method, path, body, range, signal } = request;
  const sent = httpsRequest(address.url + path, {
    method,
    agent,
    ca: address.ca,
    ...(signal === undefined ? {} : { signal }),
    headers: {
      authorization: `Bearer ${address.token}`,
      ...(body === undefined
        ? {}
        : { 'content-type': typeof body === 'string' ? 'application/json' : 'application/octet-stream' }),
      ...(range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` }),
    },
  });
  const response = once(sent, 'response');
  sent.end(body);
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
    throw error;
  }
}
