/**
 * Early requests of a page in a browser: sends what the page will request anyway before its program is loaded. Small,
 * and independent of the program.
 */
import type { FrameSocket, OpenSocket, SocketEvents } from '../../src/protocol/follow.ts';
import { type Opening, openingFrames } from '../../src/protocol/opening.ts';
import type { PagePlace } from '../../src/protocol/page.ts';
import { EXCERPT } from '../../src/protocol/taskExcerpt.ts';
import type { Transport } from '../../src/protocol/transport.ts';

export interface EarlySocket {
  readonly socket: WebSocket;
  readonly sent: readonly string[];
  readonly received: readonly string[];
  /** Stops buffering and returns the messages so far. The caller listens from then on. */
  readonly take: () => readonly string[];
}

export interface Early {
  /** Replies by path. */
  readonly replies: Map<string, Promise<Response>>;
  readonly socket: EarlySocket | undefined;
  /** Requests what the page needs after its first rows. Later, because a new server responds slowly. */
  readonly requestMore: () => void;
}

/** Sends the early requests of a page. Unused replies do no harm, and the page sends any other requests itself. */
export function requestEarly(place: PagePlace, token: string): Early {
  const init: RequestInit = token === '' ? { redirect: 'manual' } : { headers: { authorization: `Bearer ${token}` } };
  const replies = new Map<string, Promise<Response>>();
  const request = (paths: readonly string[]): void => {
    for (const path of paths) {
      const reply = fetch(path, init);
      reply.catch(() => undefined); // the page repeats the request and reports the error
      replies.set(path, reply);
    }
  };
  const { first, more } = pathsOf(place);
  request(first);
  const stream = streamOf(place);
  const socket = stream === undefined ? undefined : openEarly(openingFrames(stream), token);
  return { replies, socket, requestMore: () => request(more) };
}

function pathsOf(place: PagePlace): { readonly first: readonly string[]; readonly more: readonly string[] } {
  switch (place.page) {
    case 'batch':
      return {
        first: [`/v1/batches/${place.batch}`],
        more: [`/v1/batches/${place.batch}/tasks?limit=1000&excerpt=${EXCERPT}`, '/v1/server'],
      };
    case 'trajectory':
      return { first: [`/v1/rollouts/${place.rollout}`], more: [] };
    case 'compare': {
      const rows = new URLSearchParams({ task: place.task, all: '1', limit: '1000' }).toString();
      const batches = place.with === undefined ? [place.batch] : [place.batch, place.with];
      return {
        first: batches.flatMap((batch) => [`/v1/batches/${batch}`, `/v1/batches/${batch}/rollouts?${rows}`]),
        more: [],
      };
    }
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

/** A browser's WebSocket cannot send headers, so the token, if there is one, is a subprotocol. */
export function clientSocket(origin: string, token: string): WebSocket {
  return new WebSocket(`${origin.replace(/^http/, 'ws')}/v1/client`, token === '' ? [] : [`token.${token}`]);
}

function openEarly(sent: readonly string[], token: string): EarlySocket {
  const socket = clientSocket(window.location.origin, token);
  const messages: string[] = [];
  const keep = (event: MessageEvent<unknown>): void => void messages.push(String(event.data));
  socket.addEventListener('open', () => {
    for (const text of sent) socket.send(text);
  });
  socket.addEventListener('message', keep);
  return {
    socket,
    sent,
    received: messages,
    take: () => {
      socket.removeEventListener('message', keep);
      return messages;
    },
  };
}

/** Answers requests with their early replies, each once. Other requests use `transport`. */
export function withEarlyReplies(transport: Transport, { replies }: Pick<Early, 'replies'>): Transport {
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
      // To the page where users sign in: the other transport says so.
      if (response.type === 'opaqueredirect') return transport.request(request);
      return {
        status: response.status,
        text: () => response.text(),
        bytes: async () => new Uint8Array(await response.arrayBuffer()),
      };
    },
  };
}

/** The first subscription takes over the early socket if it sends the same frames, else it opens a new one. */
export function withEarlySocket(open: OpenSocket, early: EarlySocket | undefined): OpenSocket {
  let first = early;
  return (events) => {
    if (first === undefined) return open(events);
    const socket = first;
    first = undefined;
    return takeOver(open, socket, events);
  };
}

function takeOver(open: OpenSocket, { socket, sent, take }: EarlySocket, events: SocketEvents): FrameSocket {
  const frames: string[] = [];
  let other: FrameSocket | undefined;
  const attach = (): void => {
    const messages = take();
    socket.addEventListener('message', (event: MessageEvent<unknown>) => events.message(String(event.data)));
    socket.addEventListener('close', () => events.close());
    for (const text of messages) events.message(text);
    if (socket.readyState >= WebSocket.CLOSING) events.close();
  };
  const reopen = (): void => {
    take();
    socket.close();
    const fresh = open({
      open: () => {
        for (const text of frames) fresh.send(text);
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
      else if (frames.length === sent.length) {
        if (socket.readyState === WebSocket.OPEN) socket.send(text);
      } else {
        frames.push(text);
        if (text !== sent[frames.length - 1]) reopen();
        else if (frames.length === sent.length) attach();
      }
    },
    close: () => {
      if (other === undefined) socket.close();
      else other.close();
    },
  };
}
