/** Follows streams over a connection of this process, reconnecting and restarting the server as needed. */
import type { RawData, WebSocket } from 'ws';
import { type FollowHandlers, type FollowOptions, follow, type OpenSocket } from '../protocol/follow.ts';
import type { ServerAddress } from '../protocol/transport.ts';
import type { Connection } from './connect.ts';

/** How long a server may take to answer the closing handshake. */
const CLOSE_MS = 1_000;
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** Follows a stream until `signal` aborts. Rejects if the server can never continue it, e.g. with `gone`. */
export function subscribe(
  connection: Connection,
  options: Omit<FollowOptions, 'reconnect'>,
  handlers: FollowHandlers,
  signal: AbortSignal,
): Promise<void> {
  return follow(
    wsSocket(() => connection.address()),
    {
      ...options,
      reconnect: async (stop) => {
        connection.checkStore?.(); // a new server would start with an empty store
        await connection.reconnect(stop);
      },
    },
    handlers,
    signal,
  );
}

/** Opens WebSockets to `/v1/client` of a server. Loads `ws` lazily, so that the extension starts faster. */
export function wsSocket(address: () => ServerAddress): OpenSocket {
  return (events) => {
    const { url, token, ca } = address();
    let socket: WebSocket | undefined;
    let closed = false;
    const open = async (): Promise<void> => {
      const [{ WebSocket }, agent] = await Promise.all([
        import('ws'),
        url.startsWith('https:') ? import('../net/serverAgent.ts').then(({ serverAgent }) => serverAgent()) : undefined,
      ]);
      if (closed) {
        events.close();
        return;
      }
      socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/client`, {
        headers: { authorization: `Bearer ${token}` },
        maxPayload: MAX_FRAME_BYTES,
        ...(agent === undefined ? {} : { agent }),
        ...(ca === undefined ? {} : { ca }),
      });
      socket.on('open', () => events.open());
      socket.on('message', (data) => events.message(textOf(data)));
      socket.on('error', () => undefined); // `close` follows
      socket.on('unexpected-response', (request, response) => {
        void import('./socketRefusal.ts')
          .then(({ socketRefusal }) => socketRefusal(url, response))
          .catch(() => undefined)
          .then((refusal) => {
            request.destroy();
            events.close(refusal);
          });
      });
      socket.on('close', () => events.close());
    };
    open().catch(() => events.close());
    return {
      send: (text) => {
        if (socket?.readyState === socket?.OPEN) socket?.send(text);
      },
      close: (last) => {
        closed = true;
        if (last === undefined || socket?.readyState !== socket?.OPEN) {
          socket?.terminate();
          return;
        }
        // Without the closing handshake, what was sent last may be lost.
        socket?.send(last);
        socket?.close();
        setTimeout(() => socket?.terminate(), CLOSE_MS).unref();
      },
    };
  };
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8');
}
