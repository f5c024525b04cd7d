/**
 * The proxy through which a browser accesses the network. It checks every connection with the gate, including redirects
 * and resources of pages, and forwards to the outgoing proxy, if there is one. Playwright cannot do this: it sees
 * addresses as written, not what a name resolves to when connecting.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type RequestOptions, request as secureRequest } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Gate } from '../web/addresses.ts';
import { type Outgoing, plainHost, proxyAuthorization } from '../web/outgoing.ts';

export interface Proxy {
  readonly port: number;
  close(): Promise<void>;
}

/** Headers that concern only the connection between a browser and its proxy. */
const HOP = /^(proxy-.*|connection|keep-alive|te|trailer|upgrade)$/i;

export async function startProxy(gate: Gate, outgoing: Outgoing): Promise<Proxy> {
  const sockets = new Set<Duplex>();
  const kept = <T extends Duplex>(socket: T): T => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((asked, answer) => {
    forward(gate, outgoing, asked, answer).catch((error: unknown) => {
      refuse(answer, error);
    });
  });
  server.on('connection', (socket: Socket) => {
    kept(socket);
  });
  // HTTPS and WebSockets use a tunnel whose content the proxy does not see.
  server.on('connect', (asked: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined);
    way(gate, outgoing, asked.url ?? '', kept).then(
      (far) => {
        far.on('error', () => undefined);
        far.once('close', () => {
          socket.destroy();
        });
        socket.once('close', () => {
          far.destroy();
        });
        if (socket.destroyed) far.destroy();
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        far.write(head);
        far.pipe(socket).pipe(far);
      },
      (error: unknown) => {
        socket.end(`HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n${textOf(error)}`);
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port, // never a pipe
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Opens a connection to `host` (`name:port`), directly or through the outgoing proxy. */
async function way(
  gate: Gate,
  outgoing: Outgoing,
  host: string,
  kept: <T extends Duplex>(socket: T) => T,
): Promise<Duplex> {
  const url = gate.check(`http://${host}`);
  const port = url.port === '' ? '80' : url.port;
  const out = outgoing.for(new URL(`https://${url.hostname}:${port}`));
  if (out === undefined) {
    return new Promise((resolve, reject) => {
      const far = kept(connect({ host: plainHost(url), port: Number(port), lookup: gate.lookup }));
      far.once('connect', () => {
        resolve(far);
      });
      far.once('error', reject);
    });
  }
  await gate.checkName(plainHost(url));
  return new Promise((resolve, reject) => {
    const target = `${url.hostname}:${port}`;
    const asking = requestTo(out, {
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...proxyAuthorization(out) },
    });
    asking.once('connect', (answer, far) => {
      if (answer.statusCode === 200) {
        resolve(kept(far));
        return;
      }
      far.destroy();
      reject(new Error(`The proxy returned status ${answer.statusCode ?? 0}.`));
    });
    asking.once('response', (answer) => {
      answer.destroy();
      reject(new Error(`The proxy returned status ${answer.statusCode ?? 0}.`));
    });
    asking.once('error', reject);
    asking.end();
  });
}

async function forward(gate: Gate, outgoing: Outgoing, asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const url = gate.check(asked.url ?? '');
  const headers = Object.fromEntries(Object.entries(asked.headers).filter(([name]) => !HOP.test(name)));
  const out = outgoing.for(url);
  if (out !== undefined) await gate.checkName(plainHost(url));
  const far =
    out === undefined
      ? request(url, { method: asked.method, headers, lookup: gate.lookup })
      : requestTo(out, { method: asked.method, path: url.href, headers: { ...headers, ...proxyAuthorization(out) } });
  far.once('response', (response) => {
    answer.writeHead(
      response.statusCode ?? 502,
      Object.fromEntries(Object.entries(response.headers).filter(([name]) => !HOP.test(name))),
    );
    response.pipe(answer);
    response.once('error', () => {
      answer.destroy();
    });
  });
  far.once('error', (error) => {
    refuse(answer, error);
  });
  answer.once('close', () => {
    far.destroy();
  });
  asked.pipe(far);
}

function requestTo(
  proxy: URL,
  options: Pick<RequestOptions, 'method' | 'path' | 'headers'>,
): ReturnType<typeof request> {
  const secure = proxy.protocol === 'https:';
  return (secure ? secureRequest : request)({
    ...options,
    host: plainHost(proxy),
    port: proxy.port === '' ? (secure ? 443 : 80) : proxy.port,
  });
}

function refuse(answer: ServerResponse, error: unknown): void {
  if (answer.headersSent) answer.destroy();
  else answer.writeHead(403, { 'content-type': 'text/plain; charset=utf-8' }).end(textOf(error));
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
