/**
 * Live subscriptions by cursor. A lost connection is made again and goes on at the last cursor, so a consumer sees
 * every event and the newest row of every rollout, each at least once and events exactly once, in order.
 */
import WebSocket from 'ws';
import { sleep } from '../common/abort.ts';
import { StudioError, type ErrorCode } from '../common/errors.ts';
import { serverToClient, type ClientFrame, type ServerToClient } from '../protocol/client.ts';
import { PROTOCOL } from '../protocol/worker.ts';
import type { TraceEvent } from '../trace/schema.ts';
import type { RolloutRow } from '../trace/summary.ts';
import type { Connection } from './connect.ts';

export interface SubscribeOptions {
  /** Id of a rollout or a batch. */
  readonly stream: string;
  readonly after?: number;
  readonly afterRev?: number;
  readonly deltas?: boolean;
}

export interface SubscribeHandlers {
  events?(events: readonly TraceEvent[]): void;
  rows?(rows: readonly RolloutRow[], rev: number): void;
  /** All that is stored has been handed over. */
  head?(cursor: number, rev: number | undefined): void;
  open?(spans: readonly { span: number; text: string }[]): void;
  delta?(span: number, offset: number, text: string): void;
  /** What the server has to say to a person: its store takes no writes, or does again. */
  notice?(text: string): void;
  /** The connection was lost (true) and is there again (false). */
  lost?(lost: boolean): void;
}

const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 5_000;

/** Follows a stream until `signal` aborts (resolves) or the server says it can never go on (rejects, e.g. `gone`). */
export async function subscribe(connection: Connection, options: SubscribeOptions, handlers: SubscribeHandlers, signal: AbortSignal): Promise<void> {
  const cursor = { seq: options.after ?? 0, rev: options.afterRev ?? 0 };
  let wait = FIRST_RETRY_MS;
  const stopped = (): boolean => signal.aborted;
  while (!stopped()) {
    try {
      await followOnce(connection, options, cursor, handlers, signal, () => {
        if (wait !== FIRST_RETRY_MS) handlers.lost?.(false);
        wait = FIRST_RETRY_MS;
      });
    } catch (error) {
      if (StudioError.is(error) && error.code !== 'unavailable') throw error;
    }
    if (stopped()) return;
    if (wait === FIRST_RETRY_MS) handlers.lost?.(true);
    await sleep(wait * (0.5 + Math.random()), signal).catch(() => undefined);
    wait = Math.min(wait * 2, LONGEST_RETRY_MS);
    if (stopped()) return;
    await connection.reconnect(signal).catch((error: unknown) => {
      if (StudioError.is(error) && error.code !== 'unavailable' && error.code !== 'cancelled') throw error;
    });
  }
}

/** One connection; resolves when it closes. */
function followOnce(
  connection: Connection, options: SubscribeOptions, cursor: { seq: number; rev: number },
  handlers: SubscribeHandlers, signal: AbortSignal, connected: () => void,
): Promise<void> {
  const { url, token } = connection.address();
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/client`, { headers: { authorization: `Bearer ${token}` }, maxPayload: 64 * 1024 * 1024 });
  const send = (frame: ClientFrame): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
  };
  return new Promise((resolve, reject) => {
    const stop = (): void => socket.close();
    signal.addEventListener('abort', stop, { once: true });
    const finish = (error?: Error): void => {
      signal.removeEventListener('abort', stop);
      socket.terminate();
      if (error === undefined) resolve();
      else reject(error);
    };
    socket.on('open', () => {
      send({ type: 'hello', protocol: PROTOCOL });
      send({ type: 'subscribe', sub: '1', stream: options.stream, after: cursor.seq, after_rev: cursor.rev, deltas: options.deltas ?? false });
    });
    socket.on('message', (data) => {
      try {
        handle(serverToClient.parse(JSON.parse(textOf(data))));
      } catch (error) {
        finish(error instanceof Error ? error : new Error('a frame could not be read', { cause: error }));
      }
    });
    socket.on('error', () => undefined); // `close` follows and tells
    socket.on('close', () => finish());

    const handle = (frame: ServerToClient): void => {
      switch (frame.type) {
        case 'welcome':
          connected();
          return;
        case 'events':
          handlers.events?.(frame.events);
          cursor.seq = frame.events.at(-1)?.seq ?? cursor.seq;
          send({ type: 'seen', sub: frame.sub, cursor: cursor.seq });
          return;
        case 'rows':
          handlers.rows?.(frame.rows, frame.rev);
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
        case 'notice':
          handlers.notice?.(frame.text);
          return;
        case 'error':
          finish(new StudioError(frame.code as ErrorCode, frame.message));
      }
    };
  });
}

function textOf(data: WebSocket.RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8');
}
