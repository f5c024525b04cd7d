import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isJSONRPCRequest, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { outboundFetch } from '../../net/outboundFetch.ts';

/** Error of a request whose stream ended without a response. */
export const STREAM_LOST = 'The connection ended before the response arrived.';
const SESSION_END_MS = 1000;

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1];

/**
 * MCP over streamable HTTP. In addition to the SDK's transport, fails requests whose response can no longer arrive
 * (their stream ended and could not be resumed), where the SDK would wait for its timeout.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  constructor(url: URL, headers: Readonly<Record<string, string>>) {
    super(url, { requestInit: { headers: { ...headers } }, fetch: outboundFetch });
  }

  override send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    if (Array.isArray(message) || !isJSONRPCRequest(message)) return super.send(message, options);
    const { id } = message;
    return super.send(message, {
      ...options,
      // Also called after the response; the protocol layer then ignores the unknown ID.
      onRequestStreamEnd: () => {
        this.onmessage?.({ jsonrpc: '2.0', id, error: { code: STREAM_LOST_CODE, message: STREAM_LOST } });
      },
    });
  }

  /** Ends the session on the server, then closes. */
  async end(): Promise<void> {
    if (this.sessionId !== undefined) {
      await Promise.race([
        // The server may reject this (405) or be gone: the session is over either way.
        this.terminateSession().catch(() => undefined),
        new Promise((resolve) => setTimeout(resolve, SESSION_END_MS).unref()),
      ]);
    }
    await this.close();
  }
}

/** In the range that the protocol reserves for implementations. */
const STREAM_LOST_CODE = -32001;
