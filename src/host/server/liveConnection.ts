/** What of a server link needs a server: the client of its API, and the socket that tells of a loss. */

import type { Connection } from '../../client/connect.ts';
import { nodeTransport } from '../../client/nodeTransport.ts';
import { wsSocket } from '../../client/subscribe.ts';
import { Api } from '../../protocol/api.ts';
import { serverToClient } from '../../protocol/client.ts';
import type { FrameSocket } from '../../protocol/follow.ts';
import type { ServerAddress } from '../../protocol/transport.ts';
import { PROTOCOL } from '../../protocol/worker.ts';

export interface BothAddresses {
  readonly full: ServerAddress;
  /** Throws StudioError `usage` where there is no token that may only read. */
  readonly reading: () => ServerAddress;
}

/** A connection to wherever the server is at the time. */
export function connectionTo(address: () => BothAddresses, reconnect: Connection['reconnect']): Connection {
  return {
    api: new Api(nodeTransport(() => address().full)),
    address: () => address().full,
    readAddress: () => address().reading(),
    reconnect,
  };
}

/** The socket that tells of a loss. It also keeps the server from ending while a window uses it. */
export function holdServer(
  found: Connection,
  { notice, closed }: { readonly notice: (text: string) => void; readonly closed: () => void },
): FrameSocket {
  const socket = wsSocket(() => found.address())({
    open: () => socket.send(JSON.stringify({ type: 'hello', protocol: PROTOCOL })),
    message: (text) => {
      const frame = serverToClient.safeParse(JSON.parse(text));
      if (frame.success && frame.data.type === 'notice') notice(frame.data.text);
    },
    close: closed,
  });
  return socket;
}
