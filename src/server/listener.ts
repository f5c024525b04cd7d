/** The HTTP server and its two WebSocket routes: authenticates callers and dispatches requests. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { StudioError } from '../common/errors.ts';
import type { Log } from '../common/log.ts';
import { MAX_APPEND_BYTES } from '../protocol/worker.ts';
import type { Logins } from './access/logins.ts';
import { checkOrigin, type OriginRules } from './access/origins.ts';
import type { ProxyIdentity } from './access/proxyIdentity.ts';
import { requireRight } from './access/rights.ts';
import {
  type ClientIdentity,
  type EnrollmentIdentity,
  type Identity,
  notSession,
  presentedToken,
  type SessionIdentity,
  type Tokens,
} from './access/tokens.ts';
import { errorBody, sendError, statusOf } from './http/reply.ts';
import type { Router } from './http/router.ts';
import { Pings } from './pings.ts';
import type { StoreHealth } from './storeHealth.ts';

const HTTP = { maxHeaderSize: 16 * 1024, keepAliveTimeout: 60_000 } as const;
/** An append and its envelope. */
const MAX_WORKER_FRAME = MAX_APPEND_BYTES + 64 * 1024;
const MAX_CLIENT_FRAME = 64 * 1024;

/** Handles everything below a path, such as the embedded demo model. Gets the request with its whole URL. */
export interface Mount {
  readonly prefix: string;
  handle(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
}

interface ListenerOptions {
  readonly tokens: Tokens;
  readonly logins: Logins;
  readonly proxy: ProxyIdentity | undefined;
  readonly origins: OriginRules;
  readonly router: Router;
  readonly mounts: readonly Mount[];
  readonly log: Log;
  readonly health: StoreHealth;
  /** `transport`: the stream below the WebSocket. */
  readonly worker: (socket: WebSocket, transport: Duplex, as: EnrollmentIdentity) => void;
  /** Throws unless the session of a token is open. */
  readonly checkSession: (of: SessionIdentity) => Promise<void>;
  readonly client: (socket: WebSocket, identity: ClientIdentity) => void;
  /** Called when a client's request or connection starts. Returns the function to call at its end. */
  readonly entered: () => () => void;
  /** Whether the server is shutting down and accepts no more WebSockets. */
  readonly draining: () => boolean;
}

/** A second port, for TLS. */
export interface SecurePort {
  readonly port: number;
  /** Returns a new certificate with its key, as PEM. */
  readonly certificate: () => { readonly cert: string; readonly key: string };
  /** The oldest version of TLS; 1.3 by default. */
  readonly minVersion?: 'TLSv1.2';
  /** How often it is renewed. */
  readonly renewMs: number;
}

export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  #secure: TlsServer | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #unwatch: (() => void) | undefined;
  readonly #sockets: { readonly worker: WebSocketServer; readonly client: WebSocketServer };
  readonly #pings = new Pings();

  constructor(options: ListenerOptions) {
    this.#options = options;
    const webSockets = (maxPayload: number): WebSocketServer =>
      new WebSocketServer({
        noServer: true,
        maxPayload,
        perMessageDeflate: false,
        handleProtocols: (offered) => [...offered].find((protocol) => protocol.startsWith('token.')) ?? false,
      });
    this.#sockets = { worker: webSockets(MAX_WORKER_FRAME), client: webSockets(MAX_CLIENT_FRAME) };
    this.#server = createServer(HTTP);
    this.#serve(this.#server);
  }

  #serve(server: Server | TlsServer): void {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#handle(request, response));
    server.on(
      'upgrade',
      (request: IncomingMessage, socket: Duplex, head: Buffer) => void this.#upgrade(request, socket, head),
    );
  }

  /** Starts listening and returns the port. Throws `unavailable` when the address is not available. */
  listen(host: string, port: number): Promise<number> {
    return this.#listen(this.#server, host, port);
  }

  /** Starts listening on the port for TLS. */
  async listenSecurely(host: string, { port, certificate, renewMs, minVersion }: SecurePort): Promise<void> {
    const {
      proxy,
      logins: { reviewer },
    } = this.#options;
    // Client certificates are for logins and proxies only. An empty list: no certificate is accepted.
    const authorities = (): string[] =>
      [reviewer?.clientAuthority(), proxy?.authority()].filter((each) => each !== undefined);
    const context = () => ({
      ...certificate(),
      minVersion: minVersion ?? ('TLSv1.3' as const),
      ...(reviewer === undefined ? {} : { ca: authorities() }),
    });
    const secure = createTlsServer({
      ...HTTP,
      ...context(),
      ...(reviewer === undefined ? {} : { requestCert: true, rejectUnauthorized: false }),
    });
    this.#serve(secure);
    this.#secure = secure;
    const renew = (): void => secure.setSecureContext(context());
    this.#renewal = setInterval(renew, renewMs);
    this.#renewal.unref();
    const unwatch = [reviewer?.watchClientAuthority(renew), proxy?.watch(renew)];
    this.#unwatch = () => {
      for (const end of unwatch) end?.();
    };
    await this.#listen(secure, host, port);
  }

  #listen(server: Server | TlsServer, host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const failed = (error: Error): void =>
        reject(
          new StudioError('unavailable', `Cannot listen on ${host}, port ${port}: ${error.message}.`, {
            hint: 'Choose another --port, or use 0 for any free port.',
            cause: error,
          }),
        );
      server.once('error', failed);
      server.listen(port, host, () => {
        server.off('error', failed);
        const address = server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  /** Accepts no new connections and closes the existing ones. */
  async close(): Promise<void> {
    this.#pings.close();
    clearInterval(this.#renewal);
    this.#unwatch?.();
    const servers = [this.#server, ...(this.#secure === undefined ? [] : [this.#secure])];
    const closed = Promise.all(
      servers.map((server) => new Promise<void>((resolve) => void server.close(() => resolve()))),
    );
    for (const { clients } of Object.values(this.#sockets))
      for (const socket of clients) socket.close(1012, 'the server is shutting down');
    for (const server of servers) server.closeIdleConnections();
    const hard = setTimeout(() => {
      for (const { clients } of Object.values(this.#sockets)) for (const socket of clients) socket.terminate();
      for (const server of servers) server.closeAllConnections();
    }, 500);
    await closed;
    clearTimeout(hard);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { origins, router, mounts, entered, log, health } = this.#options;
    let endActivity: (() => void) | undefined;
    try {
      checkOrigin(request, origins);
      const url = new URL(request.url ?? '/', 'http://server');
      const mount = mounts.find(({ prefix }) => url.pathname === prefix || url.pathname.startsWith(`${prefix}/`));
      if (mount !== undefined) {
        await this.#authenticateForMount(request);
        await mount.handle(request, response);
        return;
      }
      await router.handle(request, response, url, async () => {
        const caller = await this.#authenticate(request);
        if (caller.kind === 'client') endActivity = entered();
        return caller;
      });
      if (request.method !== 'GET' && request.method !== 'HEAD') health.succeeded();
    } catch (error) {
      health.failed(error);
      if (!StudioError.is(error) && !response.destroyed)
        log(
          `${request.method ?? ''} ${request.url ?? ''}: ` +
            (error instanceof Error ? (error.stack ?? error.message) : String(error)),
          { level: 'error' },
        );
      request.resume();
      sendError(response, error);
    } finally {
      endActivity?.();
    }
  }

  async #authenticate(request: IncomingMessage): Promise<Identity> {
    const caller = await this.#caller(request);
    if (caller.kind === 'session') await this.#options.checkSession(caller);
    return caller;
  }

  async #caller(request: IncomingMessage): Promise<Identity> {
    const { tokens, logins, proxy } = this.#options;
    const token = presentedToken(request);
    // A link with a token says whose it is.
    const holder = token === undefined ? undefined : tokens.identify(token);
    if (holder !== undefined) return holder.kind === 'user' ? logins.identity(holder.session) : holder;
    const user = proxy?.user(request, logins.reviewer?.clientAuthority());
    if (user !== undefined) return logins.proxied(user);
    throw unauthorized(token, proxy?.names(request) === true);
  }

  /** Clients of a model endpoint give up after a 401. A worker that reconnects soon has another token. */
  async #authenticateForMount(request: IncomingMessage): Promise<void> {
    const caller = await this.#caller(request);
    if (caller.kind === 'client') requireRight(caller, 'read');
    if (caller.kind === 'enrollment') throw notSession();
    if (caller.kind !== 'session') return;
    await this.#options.checkSession(caller).catch((error: unknown) => {
      throw StudioError.is(error, 'unauthorized')
        ? new StudioError('unavailable', error.message, { cause: error })
        : error;
    });
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { origins, entered, worker, client, draining } = this.#options;
    socket.on('error', () => socket.destroy());
    try {
      checkOrigin(request, origins);
      const { pathname } = new URL(request.url ?? '/', 'http://server');
      const caller = await this.#caller(request);
      if (socket.destroyed) return;
      if (draining()) throw new StudioError('unavailable', 'The server is shutting down.', { hint: 'Connect again.' });
      if (pathname === '/v1/worker' && caller.kind === 'enrollment') {
        this.#accept(this.#sockets.worker, request, socket, head, (accepted) => worker(accepted, socket, caller));
      } else if (pathname === '/v1/client' && caller.kind === 'client') {
        requireRight(caller, 'read');
        this.#accept(this.#sockets.client, request, socket, head, (accepted) => {
          accepted.once('close', entered());
          client(accepted, caller);
        });
      } else {
        throw pathname === '/v1/worker' || pathname === '/v1/client'
          ? new StudioError('forbidden', 'This token is for another kind of connection or request.')
          : new StudioError('not_found', `There is no WebSocket at ${pathname.slice(0, 200)}.`);
      }
    } catch (error) {
      const body = JSON.stringify(errorBody(error));
      socket.end(
        `HTTP/1.1 ${statusOf(error)} Refused\r\nConnection: close\r\nContent-Type: ` +
          `application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    }
  }

  #accept(
    server: WebSocketServer,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    accepted: (socket: WebSocket) => void,
  ): void {
    server.handleUpgrade(request, socket, head, (webSocket) => {
      this.#pings.add(webSocket);
      webSocket.on('error', () => undefined); // its close follows and is handled
      accepted(webSocket);
    });
  }
}

/** `named`: whether the request has identity headers, which were ignored. */
function unauthorized(token: string | undefined, named: boolean): StudioError {
  if (token?.startsWith('u.') === true)
    return new StudioError('unauthorized', 'The session has ended.', { hint: 'Connect again.' });
  if (named)
    return new StudioError('unauthorized', 'The identity headers do not come from the proxy of this server.', {
      hint: 'The log of the server says why they were ignored.',
    });
  return new StudioError(
    'unauthorized',
    token === undefined ? 'A token is required.' : 'The token is not valid for this server.',
    { hint: "Send the token in the store's server.json as “Authorization: Bearer …”." },
  );
}
