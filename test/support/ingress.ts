/** What an Ingress controller does in front of a server on loopback: a reverse proxy for requests, with TLS. */
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Certificate } from '../../src/kubernetes/tls/certificate.ts';

export interface Ingress extends AsyncDisposable {
  readonly url: string;
  /** Headers that it added. */
  readonly seen: string[];
  /** Refuses larger bodies from now on, as ingress-nginx does by default. */
  limit(bytes: number): void;
}

export interface IngressOptions {
  /** Returns the server's current port. */
  readonly port: () => number;
  readonly certificate: Certificate;
  /** Connections without traffic are closed after that. */
  readonly idleMs: number;
}

export async function ingress({ port, certificate, idleMs }: IngressOptions): Promise<Ingress> {
  const seen: string[] = [];
  const sockets = new Set<Duplex>();
  let most = Infinity;
  const upstream = (request: IncomingMessage): http.ClientRequest => {
    const added = {
      'x-forwarded-for': request.socket.remoteAddress ?? '',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': request.headers.host ?? '',
      'x-real-ip': request.socket.remoteAddress ?? '',
      'x-request-id': '1',
    };
    seen.push(...Object.entries(added).map(([name, value]) => `${name}: ${value}`));
    return http.request({
      host: '127.0.0.1',
      port: port(),
      method: request.method,
      path: request.url,
      headers: { ...request.headers, ...added },
      agent: false,
    });
  };
  const server = https.createServer({ cert: certificate.cert, key: certificate.key }, (request, response) => {
    if (Number(request.headers['content-length'] ?? 0) > most) {
      response.writeHead(413, { 'content-type': 'text/html', connection: 'close' });
      response.end('<html><h1>413 Request Entity Too Large</h1></html>');
      return;
    }
    const sent = upstream(request);
    sent.on('error', () => response.destroy());
    sent.once('response', (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    request.pipe(sent);
  });
  server.keepAliveTimeout = idleMs;
  server.on('upgrade', (request: IncomingMessage, client: Socket, head: Buffer) => {
    const sent = upstream(request);
    sent.on('error', () => client.destroy());
    sent.once('response', (reply) => {
      client.end(`HTTP/1.1 ${String(reply.statusCode)} No\r\nconnection: close\r\n\r\n`);
    });
    sent.once('upgrade', (reply, socket: Socket) => {
      const headers = Object.entries(reply.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
      client.write(`HTTP/1.1 101 Switching Protocols\r\n${headers.join('')}\r\n`);
      socket.write(head);
      for (const [one, other] of [
        [client, socket],
        [socket, client],
      ] as const) {
        one.pipe(other);
        one.setTimeout(idleMs, () => one.destroy());
        one.on('error', () => undefined);
        one.on('close', () => other.destroy());
      }
    });
    sent.end();
  });
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `https://127.0.0.1:${address.port}`,
    seen,
    limit: (bytes) => {
      most = bytes;
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
