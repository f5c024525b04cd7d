/** The parts of a server link that need a server: its API client, and the socket that detects a loss. */

import type { Connection } from '../../client/connect.ts';
import { nodeTransport } from '../../client/nodeTransport.ts';
import { retryTransport } from '../../client/retryTransport.ts';
import { wsSocket } from '../../client/subscribe.ts';
import type { You } from '../../protocol/access.ts';
import { Api } from '../../protocol/api.ts';
import { serverToClient } from '../../protocol/client.ts';
import type { FrameSocket } from '../../protocol/follow.ts';
import type { ServerAddress, Transport } from '../../protocol/transport.ts';
import { PROTOCOL } from '../../protocol/version.ts';

export interface ServerAddresses {
  readonly full: ServerAddress;
  /** Throws StudioError `usage` if there is no read-only token. */
  readonly readOnly: () => ServerAddress;
}

/**
 * Creates a connection that always uses the current address of the server. `found`: waits while a lost server is
 * searched for; until then, its address may be that of a port forward that is closed.
 */
export function connectionTo(
  address: () => ServerAddresses,
  reconnect: Connection['reconnect'],
  found: (signal: AbortSignal | undefined) => Promise<void>,
): Connection {
  const plain = nodeTransport(() => address().full);
  const waiting: Required<Transport> = {
    request: async (request) => {
      await found(request.signal);
      return plain.request(request);
    },
    stream: async (request) => {
      await found(request.signal);
      return plain.stream(request);
    },
  };
  return {
    api: new Api(retryTransport(waiting)),
    address: () => address().full,
    readAddress: () => address().readOnly(),
    reconnect,
  };
}

interface HoldPorts {
  readonly notice: (text: string) => void;
  /** Called with what the user may do, and when that changes; undefined: the server does not say. */
  readonly you: (caller: You | undefined) => void;
  readonly closed: () => void;
}

/** Opens the socket that detects a loss and keeps the server running while a window uses it. */
export function holdServer(connection: Connection, { notice, you, closed }: HoldPorts): FrameSocket {
  const socket = wsSocket(() => connection.address())({
    open: () => socket.send(JSON.stringify({ type: 'hello', protocol: PROTOCOL, rights: true })),
    message: (text) => {
      const frame = serverToClient.safeParse(JSON.parse(text));
      if (!frame.success) return;
      const { data } = frame;
      if (data.type === 'notice') notice(data.text);
      else if (data.type === 'rights' || data.type === 'welcome') you(data.you);
    },
    close: closed,
  });
  return socket;
}
