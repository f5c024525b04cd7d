/**
 * What a page in a browser asks for before its program is there: the same as it asks for later, so that the answers are
 * on their way meanwhile. Small, and without anything of the program.
 */

import type { FrameSocket, OpenSocket, SocketEvents } from '../../src/protocol/follow.ts';
import { type Opening, openingFrames } from '../../src/protocol/opening.ts';
import type { PagePlace } from '../../src/protocol/page.ts';
import type { Transport } from '../../src/protocol/transport.ts';

export interface EarlySocket {
  readonly socket: WebSocket;
  /** What was said on it. */
  readonly said: readonly string[];
  /** What came on it, until somebody takes over. */
  readonly came: readonly string[];
  /** Takes over: what came so far; what comes now is the taker's. */
  readonly take: () => readonly string[];
}

export interface Early {
  /** By path. */
  readonly replies: Map<string, Promise<Response>>;
  readonly socket: EarlySocket | undefined;
  /**
   * Asks for what the page needs besides its first rows: a server that was just started takes its time for each answer.
   */
  readonly askMore: () => void;
}

/** Asks. What is never taken does no harm, and what the page asks for otherwise it asks for itself. */
export function askEarly(place: PagePlace, token: string): Early {
  const headers = { authorization: `Bearer ${token}` };
  const replies = new Map<string, Promise<Response>>();
  const ask = (paths: readonly string[]): void => {
    for (const path of paths) {
      const reply = fetch(path, { headers });
      reply.catch(() => undefined); // the page asks again, and tells of it
      replies.set(path, reply);
    }
  };
  const { first, more } = pathsOf(place);
  ask(first);
  const stream = streamOf(place);
  const socket = stream === undefined ? undefined : openEarly(openingFrames(stream), token);
  return { replies, socket, askMore: () => ask(more) };
}

function pathsOf(place: PagePlace): { readonly first: readonly string[]; readonly more: readonly string[] } {
  switch (place.page) {
    case 'batch':
      return {
        first: [`/v1/batches/${place.batch}`],
        more: [`/v1/batches/${place.batch}/tasks?limit=1000`, '/v1/server'],
      };
    case 'trajectory':
      return { first: [`/v1/rollouts/${place.rollout}`], more: [] };
    case 'compare':
      return { first: [`/v1/batches/${place.batch}`], more: [] };
    default:
      return { first: [], more: [] };
  }
}

function streamOf(place: PagePlace): Opening | undefined {
  switch (place.page) {
    case 'batch':
      return { stream: place.batch };
    case 'trajectory':
      return { stream: place.rollout, deltas: true };
    default:
      return undefined;
  }
}

/** WebSockets of a browser cannot send headers: the token is a subprotocol. */
export function clientSocket(origin: string, token: string): WebSocket {
  return new WebSocket(`${origin.replace(/^http/, 'ws')}/v1/client`, [`token.${token}`]);
}

function openEarly(said: readonly string[], token: string): EarlySocket {
  const socket = clientSocket(window.location.origin, token);
  const messages: string[] = [];
  const keep = (event: MessageEvent<unknown>): void => void messages.push(String(event.data));
  socket.addEventListener('open', () => {
    for (const text of said) socket.send(text);
  });
  socket.addEventListener('message', keep);
  return {
    socket,
    said,
    came: messages,
    take: () => {
      socket.removeEventListener('message', keep);
      return messages;
    },
  };
}

/** Requests whose answers are on their way already get those, each once. */
export function answeredEarly(transport: Transport, { replies }: Pick<Early, 'replies'>): Transport {
  return {
    request: async (request) => {
      const reply = request.method === 'GET' ? replies.get(request.path) : undefined;
      replies.delete(request.path);
      if (reply === undefined) return transport.request(request);
      let response: Response;
      try {
        response = await reply;
      } catch {
        return transport.request(request);
      }
      return {
        status: response.status,
        text: () => response.text(),
        bytes: async () => new Uint8Array(await response.arrayBuffer()),
      };
    },
  };
}

/**
 * The first subscription goes on with what came early, when it begins with the same words; otherwise it begins anew.
 */
export function openedEarly(open: OpenSocket, early: EarlySocket | undefined): OpenSocket {
  let first = early;
  return (events) => {
    if (first === undefined) return open(events);
    const given = first;
    first = undefined;
    return goOn(open, given, events);
  };
}

function goOn(open: OpenSocket, { socket, said, take }: EarlySocket, events: SocketEvents): FrameSocket {
  const words: string[] = [];
  let other: FrameSocket | undefined;
  const begin = (): void => {
    const messages = take();
    socket.addEventListener('message', (event: MessageEvent<unknown>) => events.message(String(event.data)));
    socket.addEventListener('close', () => events.close());
    for (const text of messages) events.message(text);
    if (socket.readyState >= WebSocket.CLOSING) events.close();
  };
  const anew = (): void => {
    take();
    socket.close();
    const fresh = open({
      open: () => {
        for (const text of words) fresh.send(text);
      },
      message: (text) => events.message(text),
      close: () => events.close(),
    });
    other = fresh;
  };
  queueMicrotask(() => events.open());
  return {
    send: (text) => {
      if (other !== undefined) other.send(text);
      else if (words.length === said.length) {
        if (socket.readyState === WebSocket.OPEN) socket.send(text);
      } else {
        words.push(text);
        if (text !== said[words.length - 1]) anew();
        else if (words.length === said.length) begin();
      }
    },
    close: () => {
      if (other === undefined) socket.close();
      else other.close();
    },
  };
}
