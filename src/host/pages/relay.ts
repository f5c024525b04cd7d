/**
 * Relays a page's requests and sockets to the server: adds the token, allows only what pages need, and cancels
 * pending requests when the page closes. Does not depend on VS Code, so that tests can use a real server.
 */

import type { Connection } from '../../client/connect.ts';
import { nodeTransport } from '../../client/nodeTransport.ts';
import { wsSocket } from '../../client/subscribe.ts';
import type { Listen, Observable } from '../../common/emitter.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { FrameSocket } from '../../protocol/follow.ts';
import { type HostToPage, type PageToHost, pageToHost, type ServerState } from '../../protocol/page.ts';
import type { WireReply, WireRequest } from '../../protocol/transport.ts';

/** The required part of a server link. */
export interface RelayServer {
  readonly state: Observable<ServerState>;
  readonly connected: Listen<Connection>;
  connection(options?: { readonly start?: boolean; readonly signal?: AbortSignal }): Promise<Connection>;
}

interface RelayOptions {
  readonly server: RelayServer;
  readonly post: (message: HostToPage) => void;
  /** Handles other messages: the page is ready, navigated, or requests an action. */
  readonly other: (message: Exclude<PageToHost, { type: 'request' | 'cancel' | 'socket' | 'send' }>) => void;
  /** Called for invalid messages. */
  readonly invalid: (reason: string) => void;
}

interface RelayedSocket {
  readonly stop: AbortController;
  socket?: FrameSocket;
}

export class Relay {
  readonly #options: RelayOptions;
  readonly #requests = new Map<number, AbortController>();
  readonly #sockets = new Map<number, RelayedSocket>();
  readonly #stateListener: { dispose(): void };
  #disposed = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#stateListener = options.server.state.changed((server) => this.#post({ type: 'server', server }));
  }

  /** Handles a message from the page. */
  take(raw: unknown): void {
    if (this.#disposed) return;
    const parsed = pageToHost.safeParse(raw);
    if (!parsed.success) {
      this.#options.invalid(parsed.error.issues[0]?.message ?? 'unknown');
      return;
    }
    const message = parsed.data;
    switch (message.type) {
      case 'request':
        void this.#request(message);
        return;
      case 'cancel':
        this.#requests.get(message.id)?.abort();
        return;
      case 'socket':
        if (message.what === 'open') void this.#open(message.id);
        else this.#close(message.id);
        return;
      case 'send':
        this.#sockets.get(message.id)?.socket?.send(message.text);
        return;
      default:
        this.#options.other(message);
    }
  }

  /** Cancels all requests and closes all sockets, because a reloaded page starts over. */
  reset(): void {
    for (const request of this.#requests.values()) request.abort();
    for (const id of [...this.#sockets.keys()]) this.#close(id);
    this.#requests.clear();
  }

  dispose(): void {
    this.reset();
    this.#disposed = true;
    this.#stateListener.dispose();
  }

  async #request({ id, method, path, body, bytes, range }: Extract<PageToHost, { type: 'request' }>): Promise<void> {
    const stop = new AbortController();
    this.#requests.get(id)?.abort();
    this.#requests.set(id, stop);
    try {
      if (!isPageRequest(method, path))
        throw new StudioError('forbidden', 'Pages can only read batches and rollouts, control them, and fork them.');
      const reply = await this.#answer({
        method,
        path,
        ...(body === undefined ? {} : { body }),
        ...(range === undefined ? {} : { range }),
        signal: stop.signal,
      });
      // Copy, because a message must carry its own buffer.
      const content = bytes === true ? { bytes: new Uint8Array(await reply.bytes()) } : { text: await reply.text() };
      if (!stop.signal.aborted) this.#post({ type: 'reply', id, status: reply.status, ...content });
    } catch (error) {
      if (!stop.signal.aborted) this.#post({ type: 'failed', id, ...failureOf(error) });
    } finally {
      if (this.#requests.get(id) === stop) this.#requests.delete(id);
    }
  }

  /** Reconnects once if the server was lost, and retries read-only requests. */
  async #answer(request: WireRequest & { readonly signal: AbortSignal }): Promise<WireReply> {
    const { method, signal } = request;
    const send = async (): Promise<WireReply> => {
      const connection = await this.#options.server.connection({ signal });
      return nodeTransport(() => connection.address()).request(request);
    };
    try {
      return await send();
    } catch (error) {
      if (signal.aborted || !StudioError.is(error, 'unavailable') || method !== 'GET') throw error;
      return send();
    }
  }

  /** Opens a socket. If the server is unavailable, opens it when the server is back. */
  async #open(id: number): Promise<void> {
    if (this.#sockets.has(id)) return;
    const relayed: RelayedSocket = { stop: new AbortController() };
    this.#sockets.set(id, relayed);
    const signal = relayed.stop.signal;
    const closed = (): void => {
      if (this.#sockets.get(id) !== relayed) return; // the page closed it
      this.#sockets.delete(id);
      this.#post({ type: 'socket', id, what: 'close' });
    };
    let connection: Connection;
    try {
      connection = await this.#whenConnected(signal);
    } catch {
      closed(); // requests report the reason
      return;
    }
    if (signal.aborted) return;
    relayed.socket = wsSocket(() => connection.address())({
      open: () => {
        if (!signal.aborted) this.#post({ type: 'socket', id, what: 'open' });
      },
      message: (text) => {
        if (!signal.aborted) this.#post({ type: 'message', id, text });
      },
      close: closed,
    });
  }

  async #whenConnected(signal: AbortSignal): Promise<Connection> {
    const { server } = this.#options;
    for (;;) {
      const reconnected = nextEvent(server.connected, signal);
      try {
        const connection = await server.connection({ signal });
        reconnected.dispose();
        return connection;
      } catch (error) {
        if (signal.aborted || !StudioError.is(error, 'unavailable')) {
          reconnected.dispose();
          throw error;
        }
        await reconnected.fired; // or the page gave up, which the next iteration detects
      }
    }
  }

  #close(id: number): void {
    const relayed = this.#sockets.get(id);
    this.#sockets.delete(id);
    relayed?.stop.abort();
    relayed?.socket?.close();
  }

  #post(message: HostToPage): void {
    if (!this.#disposed) this.#options.post(message);
  }
}

/** What pages request. Not: tokens, tickets, new batches, imports, uploads, and deletion. */
const PAGE_PATHS: Readonly<Record<Extract<PageToHost, { type: 'request' }>['method'], RegExp>> = {
  GET: paths(
    'server',
    'batches',
    'batches/ID',
    'batches/ID/tasks',
    'batches/ID/rollouts',
    'rollouts/ID',
    'streams/ID/events',
    'blobs/ID',
  ),
  POST: paths('batches/ID/commands', 'rollouts/ID/commands', 'forks'),
};

function paths(...routes: readonly string[]): RegExp {
  return new RegExp(`^/v1/(?:${routes.join('|').replaceAll('ID', '[\\w-]+')})$`);
}

/** Returns whether a page may send a request. A path that a URL would normalize to another one does not match. */
export function isPageRequest(method: keyof typeof PAGE_PATHS, path: string): boolean {
  const query = path.indexOf('?');
  return PAGE_PATHS[method].test(query === -1 ? path : path.slice(0, query)) && !/[\\\s#]/.test(path);
}

/** Starts listening immediately, so that no event is missed. */
function nextEvent(listen: Listen<unknown>, signal: AbortSignal): { readonly fired: Promise<void>; dispose(): void } {
  let end = (): void => undefined;
  const fired = new Promise<void>((resolve) => {
    const listener = listen(() => end());
    end = (): void => {
      listener.dispose();
      signal.removeEventListener('abort', end);
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
  });
  return { fired, dispose: () => end() };
}

function failureOf(error: unknown): { code: string; message: string; hint?: string } {
  if (!StudioError.is(error)) return { code: 'internal', message: errorText(error) };
  return { code: error.code, message: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }) };
}
