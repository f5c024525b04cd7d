/**
 * Requests of this process to a server: by `fetch`, or where the server's certificate is of an authority of its own, by
 * what can be told so.
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

/** As `fetchTransport`, for addresses with certificates of their own, too. */
export function nodeTransport(address: () => ServerAddress): Transport {
  const usual = fetchTransport(address);
  return {
    request: (request) => {
      const { url, token, ca } = address();
      return ca === undefined ? usual.request(request) : trusting(request, { url, token, ca });
    },
  };
}

/** One for all requests: it keeps connections, by what they trust. */
const agent = new Agent({ keepAlive: true });

async function trusting(request: WireRequest, address: Required<ServerAddress>): Promise<WireReply> {
  const { signal } = request;
  try {
    return await asked(request, address);
  } catch (error) {
    if (signal?.aborted === true) throw new StudioError('cancelled', 'The request was cancelled.', { cause: error });
    throw new StudioError('unavailable', `The rollout server at ${address.url} does not answer.`, {
      hint: 'Try again once it is reached.',
      cause: error,
    });
  }
}

async function asked(wanted: WireRequest, address: Required<ServerAddress>): Promise<WireReply> {
  const { method, path, body, range, signal } = wanted;
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
  const answer = once(sent, 'response');
  sent.end(body);
  try {
    const [reply] = (await answer) as [IncomingMessage]; // what a request gives
    const bytes = await buffer(reply);
    return {
      status: reply.statusCode ?? 0,
      text: () => Promise.resolve(bytes.toString('utf8')),
      bytes: () => Promise.resolve(new Uint8Array(bytes)),
    };
  } catch (error) {
    // A kept connection that the other side had closed: nobody got the request.
    if (
      sent.reusedSocket &&
      signal?.aborted !== true &&
      error instanceof Error &&
      'code' in error &&
      error.code === 'ECONNRESET'
    )
      return asked(wanted, address);
    throw error;
  }
}
