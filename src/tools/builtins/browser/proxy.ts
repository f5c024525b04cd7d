/** What a browser reaches the network through: it goes only where the gate lets it, redirects and parts of pages too. */
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Gate } from '../web/addresses.ts';

export interface Proxy {
  readonly port: number;
  close(): Promise<void>;
}

/** Headers between a browser and its proxy. */
const HOP = /^(proxy-.*|connection|keep-alive|te|trailer|upgrade)$/i;

export async function startProxy(gate: Gate): Promise<Proxy> {
  const sockets = new Set<Duplex>();
  const kept = <T extends Duplex>(socket: T): T => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((asked, answer) => { forward(gate, asked, answer); });
  server.on('connection', (socket: Socket) => { kept(socket); });
  // HTTPS and web sockets: a way to the host, of which the proxy sees nothing.
  server.on('connect', (asked: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined);
    const refuse = (error: unknown): void => { socket.end(`HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n${textOf(error)}`); };
    try {
      const { hostname, port } = gate.check(`http://${asked.url ?? ''}`);
      const far = kept(connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port === '' ? 80 : port), lookup: gate.lookup }));
      far.once('connect', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        far.write(head);
        far.pipe(socket).pipe(far);
      });
      far.once('error', refuse);
      socket.once('close', () => { far.destroy(); });
    } catch (error) {
      refuse(error);
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port
    close: () => new Promise((resolve) => {
      server.close(() => { resolve(); });
      for (const socket of sockets) socket.destroy();
    }),
  };
}

function forward(gate: Gate, asked: IncomingMessage, answer: ServerResponse): void {
  const refuse = (error: unknown): void => {
    if (answer.headersSent) answer.destroy();
    else answer.writeHead(403, { 'content-type': 'text/plain; charset=utf-8' }).end(textOf(error));
  };
  try {
    const url = gate.check(asked.url ?? '');
    const headers = Object.fromEntries(Object.entries(asked.headers).filter(([name]) => !HOP.test(name)));
    const far = request(url, { method: asked.method, headers, lookup: gate.lookup }, (response) => {
      answer.writeHead(response.statusCode ?? 502, Object.fromEntries(Object.entries(response.headers).filter(([name]) => !HOP.test(name))));
      response.pipe(answer);
      response.once('error', () => { answer.destroy(); });
    });
    far.once('error', refuse);
    answer.once('close', () => { far.destroy(); });
    asked.pipe(far);
  } catch (error) {
    refuse(error);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
