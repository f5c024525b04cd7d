import { once } from 'node:events';
import net from 'node:net';

/** A proxy to a server that a test can cut at a chosen moment. */
export interface CuttingProxy {
  readonly port: number;
  /**
   * Cuts the next connection over which the client sends `text`: before the server receives it, or after the server
   * received it and before its response arrives. Resolves when that happened.
   */
  cutAt(text: string, when: 'before' | 'after'): Promise<void>;
  /** Cuts every open connection. */
  cutAll(): void;
  /** While away, nothing gets through: open connections are cut, and new ones too. */
  setAway(on: boolean): void;
  /** Sends new connections to this port from now on. */
  forwardTo(port: number): void;
  close(): Promise<void>;
}

/** Forwards connections from a new port on loopback to `port`. */
export async function cuttingProxy(port: number): Promise<CuttingProxy> {
  let cut: { text: string; when: 'before' | 'after'; done: () => void } | undefined;
  const sockets = new Set<net.Socket>();
  let away = false;
  let target = port;
  const server = net.createServer((client) => {
    if (away) {
      client.destroy();
      return;
    }
    const upstream = net.connect(target, '127.0.0.1');
    let deaf = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        if (socket === upstream || !deaf) (socket === client ? upstream : client).destroy();
      });
    }
    client.on('data', (bytes: Buffer) => {
      if (deaf) return;
      const at = cut;
      if (at === undefined || !bytes.includes(at.text)) {
        upstream.write(bytes);
        return;
      }
      cut = undefined;
      deaf = true;
      if (at.when === 'before') upstream.destroy();
      else upstream.end(bytes); // the server reads it, acts, and finds the connection closed
      client.destroy();
      at.done();
    });
    upstream.on('data', (bytes: Buffer) => {
      if (!deaf) client.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    cutAt: (text, when) =>
      new Promise((done) => {
        cut = { text, when, done };
      }),
    setAway(on) {
      away = on;
      if (on) for (const socket of sockets) socket.destroy();
    },
    cutAll() {
      for (const socket of sockets) socket.destroy();
    },
    forwardTo(other) {
      target = other;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}
