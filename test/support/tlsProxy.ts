/** A TLS proxy in front of a server on loopback, as a gateway provides it. */
import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import type { Certificate } from '../../src/kubernetes/tls/certificate.ts';

export interface TlsProxy extends AsyncDisposable {
  readonly url: string;
  /** Cuts every open connection. */
  cut(): void;
}

/** `port` returns the server's current port. */
export async function tlsProxy(port: () => number, { cert, key }: Certificate): Promise<TlsProxy> {
  const sockets = new Set<Socket>();
  const server = tls.createServer({ cert, key }, (client) => {
    const upstream = net.connect(port(), '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.on('tlsClientError', () => undefined); // clients that do not trust it disconnect
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `https://127.0.0.1:${address.port}`,
    cut,
    [Symbol.asyncDispose]: async () => {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}
