/** An HTTP proxy on loopback that only knows CONNECT, as companies have them. */
import { once } from 'node:events';
import http from 'node:http';
import net, { type Socket } from 'node:net';

export interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  /** What clients connected to, in order: `host:port`. */
  readonly targets: string[];
  /** Cuts every open tunnel. */
  cut(): void;
}

export interface ConnectProxyOptions {
  /** `user:password` that clients must send. */
  readonly credentials?: string;
  /** Refuses every target with this status. */
  readonly refuse?: number;
  /** Where a host really is. Default: all are on loopback, with the port that was named. */
  readonly port?: (target: string) => number;
}

export async function connectProxy({ credentials, refuse, port }: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const targets: string[] = [];
  const sockets = new Set<Socket>();
  const server = http.createServer((_request, response) => {
    response.writeHead(405);
    response.end();
  });
  server.on('connect', (request, client: Socket, head: Buffer) => {
    client.on('error', () => undefined);
    const target = request.url ?? '';
    const sent = request.headers['proxy-authorization'];
    if (credentials !== undefined && sent !== `Basic ${Buffer.from(credentials).toString('base64')}`) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n');
      return;
    }
    targets.push(target);
    if (refuse !== undefined) {
      client.end(`HTTP/1.1 ${String(refuse)} No\r\n\r\n`);
      return;
    }
    const upstream = net.connect(port?.(target) ?? Number(target.split(':').at(-1)), '127.0.0.1');
    upstream.once('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      client.pipe(upstream);
      upstream.pipe(client);
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${address.port}`,
    targets,
    cut,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      cut();
      await once(server, 'close');
    },
  };
}
