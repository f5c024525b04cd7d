/**
 * Live subscriptions by cursor, over any socket. After a lost connection the subscription continues at the last cursor,
 * so a consumer sees every event exactly once and in order, and the newest row of every rollout at least once. Retries
 * only after an outage: any other error ends the subscription.
 */
import { sleep } from '../common/abort.ts';
import { errorCodeOf, errorText, StudioError } from '../common/errors.ts';
import type { TraceEvent } from '../trace/schema.ts';
import type { RolloutRow } from '../trace/summary.ts';
import type { You } from './access.ts';
import { type ClientFrame, type ServerToClient, serverToClient } from './client.ts';
import { type Opening, openingFrames, SUB } from './opening.ts';

/** An open or opening connection to `/v1/client`. */
export interface FrameSocket {
  send(text: string): void;
  /** Closes the socket, after sending `last` if there is one; its `close` event follows. */
  close(last?: string): void;
}

export interface SocketEvents {
  open(): void;
  message(text: string): void;
  /**
   * Called at the end, even if the socket never opened. `refusal`: why something between client and server does not let
   * it through, and will not.
   */
  close(refusal?: StudioError): void;
}

export type OpenSocket = (events: SocketEvents) => FrameSocket;

export interface FollowOptions extends Opening {
  /**
   * Ensures that a server is running before the next attempt. An error that a retry cannot fix ends the subscription.
   */
  readonly reconnect?: (signal: AbortSignal) => Promise<void>;
}

/** A handler of events or rows may be slow: the server waits until it is done. */
export interface FollowHandlers {
  events?(events: readonly TraceEvent[]): void | Promise<void>;
  rows?(rows: readonly RolloutRow[], rev: number): void | Promise<void>;
  /** Everything stored has been delivered. */
  head?(cursor: number, rev: number | undefined): void;
  open?(spans: readonly { span: number; text: string }[]): void;
  delta?(span: number, offset: number, text: string): void;
  /** A message of the server for people: its store rejects writes, or accepts them again. */
  notice?(text: string): void;
  /** What the client may do, at each connection and when it changes. Not called by older servers. */
  you?(caller: You): void;
  /** Called when the connection was lost (true) or restored (false). */
  lost?(lost: boolean): void;
}

interface Cursor {
  seq: number;
  rev: number;
}

const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 5_000;

/**
 * Follows a stream until `signal` aborts (resolves) or a permanent error of the server (rejects, for example `gone`).
 */
export async function follow(
  openSocket: OpenSocket,
  options: FollowOptions,
  handlers: FollowHandlers,
  signal: AbortSignal,
): Promise<void> {
  const cursor: Cursor = { seq: options.after ?? 0, rev: options.afterRev ?? 0 };
  let wait = FIRST_RETRY_MS;
  const stopped = (): boolean => signal.aborted;
  let refusal: StudioError | undefined;
  let wasConnected = false;
  /** Once it was connected, a refusal is an outage. */
  const permanent = (): StudioError | undefined => (wasConnected ? undefined : refusal);
  const open: OpenSocket = (events) =>
    openSocket({
      ...events,
      close: (refused) => {
        refusal = refused;
        events.close();
      },
    });
  while (!stopped()) {
    refusal = undefined;
    try {
      await followOnce(open, options, cursor, handlers, signal, () => {
        wasConnected = true;
        if (wait !== FIRST_RETRY_MS) handlers.lost?.(false);
        wait = FIRST_RETRY_MS;
      });
    } catch (error) {
      if (!isOutage(error)) throw error;
    }
    if (stopped()) return;
    const refused = permanent();
    if (refused !== undefined) throw refused;
    if (wait === FIRST_RETRY_MS) handlers.lost?.(true);
    await sleep(wait * (0.5 + Math.random()), signal).catch(() => undefined);
    wait = Math.min(wait * 2, MAX_RETRY_MS);
    if (stopped()) return;
    await options.reconnect?.(signal).catch((error: unknown) => {
      if (!isOutage(error)) throw error;
    });
  }
}

/** Returns whether another attempt may succeed. Any other error, including an unexpected one, would only recur. */
function isOutage(error: unknown): boolean {
  return StudioError.is(error, 'unavailable') || StudioError.is(error, 'cancelled');
}

function frameOf(text: string): ServerToClient {
  try {
    return serverToClient.parse(JSON.parse(text));
  } catch (error) {
    throw new StudioError('version', `The server sent a message that cannot be read: ${errorText(error)}.`, {
      hint: 'Install the same version of Rollout Studio here and on the server.',
      cause: error,
    });
  }
}

/** Follows over one connection; resolves when it closes. */
function followOnce(
  openSocket: OpenSocket,
  options: FollowOptions,
  cursor: Cursor,
  handlers: FollowHandlers,
  signal: AbortSignal,
  connected: () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let over = false;
    // A debugger unsubscribes, so that the server knows that it was not lost.
    const stop = (): void =>
      socket.close(options.debugger === undefined ? undefined : JSON.stringify({ type: 'unsubscribe', sub: SUB }));
    const finish = (error?: unknown): void => {
      if (over) return;
      over = true;
      signal.removeEventListener('abort', stop);
      socket.close();
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error(errorText(error), { cause: error }));
    };
    const send = (frame: ClientFrame): void => {
      if (!over) socket.send(JSON.stringify(frame));
    };
    // Frames are handled in sequence, even if a handler is slow.
    let queue: Promise<void> | undefined;
    const receive = async (text: string): Promise<void> => {
      const frame = frameOf(text);
      if (frame.type === 'welcome') {
        connected();
        if (frame.you !== undefined) handlers.you?.(frame.you);
      } else if (frame.type === 'error') throw new StudioError(errorCodeOf(frame.code), frame.message);
      else if (!over) await handle(frame, cursor, handlers, send);
    };
    const socket = openSocket({
      open: () => {
        if (!over)
          for (const text of openingFrames({ ...options, after: cursor.seq, afterRev: cursor.rev })) socket.send(text);
      },
      message: (text) => {
        queue = (queue ?? Promise.resolve()).then(() => receive(text)).catch(finish);
      },
      // Handle what arrived before it closed.
      close: () => {
        void (queue ?? Promise.resolve()).then(() => finish());
      },
    });
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
}

async function handle(
  frame: ServerToClient,
  cursor: Cursor,
  handlers: FollowHandlers,
  send: (frame: ClientFrame) => void,
): Promise<void> {
  switch (frame.type) {
    case 'events':
      await handlers.events?.(frame.events);
      cursor.seq = frame.events.at(-1)?.seq ?? cursor.seq;
      send({ type: 'seen', sub: frame.sub, cursor: cursor.seq });
      return;
    case 'rows':
      await handlers.rows?.(frame.rows, frame.rev);
      cursor.rev = frame.rev;
      send({ type: 'seen', sub: frame.sub, cursor: cursor.seq, rev: frame.rev });
      return;
    case 'head':
      handlers.head?.(frame.cursor, frame.rev);
      return;
    case 'open':
      handlers.open?.(frame.spans);
      return;
    case 'delta':
      handlers.delta?.(frame.span, frame.offset, frame.text);
      return;
    case 'rights':
      handlers.you?.(frame.you);
      return;
    case 'notice':
      handlers.notice?.(frame.text);
      return;
    case 'welcome':
    case 'error':
  }
}
