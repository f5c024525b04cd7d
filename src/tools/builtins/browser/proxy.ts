/**
 * The proxy through which a browser, and programs in a sandbox, access the network. It checks every connection with the
 * gate, including redirects and resources of pages, and forwards to the outgoing proxy, if there is one. Playwright
 * cannot do this: it sees addresses as written, not what a name resolves to when connecting.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type RequestOptions, request as secureRequest } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { plainHost, proxyAuthorization } from '../../../net/proxyRules.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import type { Gate } from '../web/addresses.ts';
import type { Outgoing } from '../web/outgoing.ts';

export interface Proxy {
  readonly address: { readonly port: number; readonly username: string; readonly password: string };
  close(): Promise<void>;
}

/** Headers that concern only the connection between a browser and its proxy. */
const HOP = /^(proxy-.*|connection|keep-alive|te|trailer|upgrade)$/i;

const USER = 'browser';
const REALM = 'Basic realm="Rollout Studio"';

/** Starts a proxy on loopback. It asks for a password, because everybody on the machine reaches it. */
export async function startProxy(gate: Gate, outgoing: Outgoing): Promise<Proxy> {
  const password = randomBytes(24).toString('base64url');
  const proxy = createProxy(gate, outgoing, password);
  const { server } = proxy;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    address: { port: (server.address() as AddressInfo).port, username: USER, password }, // never a pipe
    close: () => proxy.close(),
  };
}

interface ProxyServer {
  /** Serves connections, also those that it is given as `connection` events. */
  readonly server: Server;
  /** Opens a connection to `host:port`. */
  tunnel(host: string): Promise<Duplex>;
  close(): Promise<void>;
}

/** Creates a proxy that does not listen yet. `password`: what its HTTP clients must send. */
export function createProxy(gate: Gate, outgoing: Outgoing, password?: string): ProxyServer {
  const needed = password === undefined ? undefined : Buffer.from(`Basic ${btoa(`${USER}:${password}`)}`);
  const isKnown = ({ headers }: IncomingMessage): boolean => {
    const sent = Buffer.from(headers['proxy-authorization'] ?? '');
    return needed === undefined || (sent.length === needed.length && timingSafeEqual(sent, needed));
  };
  const sockets = new Set<Duplex>();
  const tracked = <T extends Duplex>(socket: T): T => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((asked, answer) => {
    if (!isKnown(asked)) {
      answer.writeHead(407, { 'proxy-authenticate': REALM }).end();
      return;
    }
    forward(gate, outgoing, asked, answer).catch((error: unknown) => {
      refuse(answer, error);
    });
  });
  server.on('connection', (socket: Socket) => {
    tracked(socket);
  });
  // HTTPS and WebSockets use a tunnel whose content the proxy does not see.
  server.on('connect', (asked: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined);
    if (!isKnown(asked)) {
      const headers = `proxy-authenticate: ${REALM}\r\nconnection: close\r\ncontent-length: 0\r\n`;
      socket.end(`HTTP/1.1 407 Proxy Authentication Required\r\n${headers}\r\n`);
      return;
    }
    tunnelTo(gate, outgoing, asked.url ?? '', tracked).then(
      (remote) => {
        remote.on('error', () => undefined);
        remote.once('close', () => {
          socket.destroy();
        });
        socket.once('close', () => {
          remote.destroy();
        });
        if (socket.destroyed) remote.destroy();
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        remote.write(head);
        remote.pipe(socket).pipe(remote);
      },
      (error: unknown) => {
        const status = isRefused(error) ? '403 Forbidden' : '502 Bad Gateway';
        socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\n\r\n${textOf(error)}`);
      },
    );
  });
  return {
    server,
    tunnel: (host) => tunnelTo(gate, outgoing, host, tracked),
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
async function tunnelTo(
  gate: Gate,
  outgoing: Outgoing,
  host: string,
  tracked: <T extends Duplex>(socket: T) => T,
): Promise<Duplex> {
  const url = gate.check(`http://${host}`);
  const to = gate.for(url);
  const port = url.port === '' ? '80' : url.port;
  const via = outgoing.for(new URL(`https://${url.hostname}:${port}`));
  if (via === undefined) {
    return new Promise((resolve, reject) => {
      const remote = tracked(connect({ host: plainHost(url), port: Number(port), lookup: to.lookup }));
      remote.once('connect', () => {
        resolve(remote);
      });
      remote.once('error', reject);
    });
  }
  await to.checkName(plainHost(url));
  return new Promise((resolve, reject) => {
    const target = `${url.hostname}:${port}`;
    const outgoingRequest = requestTo(via, {
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...proxyAuthorization(via) },
    });
    outgoingRequest.once('connect', (answer, remote) => {
      if (answer.statusCode === 200) {
        resolve(tracked(remote));
        return;
      }
      remote.destroy();
      reject(new Error(`The proxy returned status ${answer.statusCode ?? 0}.`));
    });
    outgoingRequest.once('response', (answer) => {
      answer.destroy();
      reject(new Error(`The proxy returned status ${answer.statusCode ?? 0}.`));
    });
    outgoingRequest.once('error', reject);
    outgoingRequest.end();
  });
}

async function forward(gate: Gate, outgoing: Outgoing, asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const url = gate.check(asked.url ?? '');
  const to = gate.for(url);
  const headers = Object.fromEntries(Object.entries(asked.headers).filter(([name]) => !HOP.test(name)));
  const via = outgoing.for(url);
  if (via !== undefined) await to.checkName(plainHost(url));
  const remote =
    via === undefined
      ? request(url, { method: asked.method, headers, lookup: to.lookup })
      : requestTo(via, { method: asked.method, path: url.href, headers: { ...headers, ...proxyAuthorization(via) } });
  remote.once('response', (response) => {
    answer.writeHead(
      response.statusCode ?? 502,
      Object.fromEntries(Object.entries(response.headers).filter(([name]) => !HOP.test(name))),
    );
    response.pipe(answer);
    response.once('error', () => {
      answer.destroy();
    });
  });
  remote.once('error', (error) => {
    refuse(answer, error);
  });
  answer.once('close', () => {
    remote.destroy();
  });
  asked.pipe(remote);
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
  else
    answer.writeHead(isRefused(error) ? 403 : 502, { 'content-type': 'text/plain; charset=utf-8' }).end(textOf(error));
}

/** Whether the gate refused it. Otherwise, the host did not answer. */
function isRefused(error: unknown): boolean {
  return error instanceof ClassedError;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
