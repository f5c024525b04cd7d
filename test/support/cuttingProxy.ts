import { once } from 'node:events';
import net from 'node:net';

/** A way to a server that a test can cut at a chosen moment. */
export interface CuttingProxy {
  readonly port: number;
  /**
   * Cuts the next connection over which the client sends `text`: before the server gets it, or after the server did
   * and before its answer comes back. Resolves when that happened.
   */
  cutAt(text: string, when: 'before' | 'after'): Promise<void>;
  /** Cuts every connection there is. */
  cutAll(): void;
  /** While it is away, nothing gets through: what there is is cut, and what comes anew too. */
  setAway(on: boolean): void;
  /** New connections go to this port from now on. */
  leadTo(port: number): void;
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
      else upstream.end(bytes); // the server reads it, acts, and finds us gone
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
    leadTo(other) {
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
