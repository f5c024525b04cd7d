/**
 * Serves MCP over streamable HTTP on loopback. Other users of the machine can reach loopback too, and tools run code,
 * so the URL contains a secret path, which works with any client that accepts a URL. Requests with another Host header
 * or from other web origins are rejected (DNS rebinding).
 */
import { randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServer,
  originValidationResponse,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { StudioError } from '../../common/errors.ts';

const HOST = '127.0.0.1';
/** Maximum number of sessions. The oldest are dropped, because clients may disconnect silently. */
const MAX_SESSIONS = 64;

interface HttpOptions {
  /** 0 selects any free port. */
  readonly port: number;
  readonly make: () => McpServer;
  /** Called with errors that clients do not see. */
  readonly onError: (error: Error) => void;
}

export interface HttpServing {
  /** The secret URL, which grants access to all tools. */
  readonly url: string;
  close(): Promise<void>;
}

export async function serveHttp({ port, make, onError }: HttpOptions): Promise<HttpServing> {
  const path = `/mcp/${randomBytes(24).toString('base64url')}`;
  const sessions = new LegacySessions(make, onError);
  const modern = createMcpHandler(make, { legacy: 'reject', onerror: onError });

  const answer = async (request: Request): Promise<Response> => {
    const refused =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (refused !== undefined) return refused;
    if (!same(new URL(request.url).pathname, path)) return new Response('Not found', { status: 404 });
    return (await isLegacyRequest(request)) ? sessions.answer(request) : modern.fetch(request);
  };
  const server = createServer((incoming, outgoing) => {
    exchange(incoming, outgoing, answer).catch((error: unknown) => {
      onError(error instanceof Error ? error : new Error(String(error)));
      outgoing.destroy();
    });
  });
  server.listen(port, HOST);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new StudioError('unavailable', `Cannot listen on port ${port}.`, {
      hint: 'Choose another port with --http.',
      cause,
    });
  }
  const address = server.address();
  const listening = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${HOST}:${listening}${path}`,
    close: async () => {
      await Promise.all([sessions.close(), modern.close()]);
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Serves clients of protocol revisions up to 2025-11-25, with one server per session. */
class LegacySessions {
  readonly #make: () => McpServer;
  readonly #onError: (error: Error) => void;
  /** Sessions, most recently used last. */
  readonly #open = new Map<
    string,
    { readonly server: McpServer; readonly transport: WebStandardStreamableHTTPServerTransport }
  >();

  constructor(make: () => McpServer, onError: (error: Error) => void) {
    this.#make = make;
    this.#onError = onError;
  }

  async answer(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id !== null) {
      const session = this.#open.get(id);
      if (session === undefined) return failure(404, -32001, 'Unknown session. Initialize again.');
      this.#open.delete(id);
      this.#open.set(id, session);
      return session.transport.handleRequest(request);
    }
    // Without a session ID only `initialize` is valid; the transport rejects other requests.
    const server = this.#make();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (opened) => {
        this.#open.set(opened, { server, transport });
        this.#shed();
      },
      onsessionclosed: (closed) => {
        this.#open.delete(closed);
      },
    });
    transport.onerror = this.#onError;
    await server.connect(transport);
    const response = await transport.handleRequest(request);
    if (transport.sessionId === undefined) await server.close();
    return response;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ server }) => server.close()));
    this.#open.clear();
  }

  #shed(): void {
    const [oldest] = this.#open;
    if (this.#open.size <= MAX_SESSIONS || oldest === undefined) return;
    this.#open.delete(oldest[0]);
    oldest[1].server
      .close()
      .catch((error: unknown) => this.#onError(error instanceof Error ? error : new Error(String(error))));
  }
}

function failure(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}

function same(actual: string, expected: string): boolean {
  const [a, b] = [Buffer.from(actual), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Adapts a node:http exchange to Request and Response. The request aborts when the client disconnects. */
async function exchange(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  answer: (request: Request) => Promise<Response>,
): Promise<void> {
  const disconnected = new AbortController();
  outgoing.once('close', () => disconnected.abort());
  const response = await answer(requestOf(incoming, disconnected.signal));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    outgoing.end();
    return;
  }
  outgoing.flushHeaders();
  try {
    await pipeline(Readable.fromWeb(response.body), outgoing);
  } catch (error) {
    if (!disconnected.signal.aborted) throw error;
  }
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  const method = incoming.method ?? 'GET';
  const url = new URL(incoming.url ?? '/', `http://${HOST}`);
  if (method === 'GET' || method === 'HEAD') return new Request(url, { method, headers, signal });
  return new Request(url, { method, headers, signal, body: Readable.toWeb(incoming), duplex: 'half' });
}
