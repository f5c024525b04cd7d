import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isJSONRPCRequest, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** What a request fails with whose stream ended without an answer. */
export const STREAM_LOST = 'The connection ended before the answer came.';
const SESSION_END_MS = 1000;

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1];

/**
 * MCP over streamable HTTP. Beside what the SDK's transport does it fails the requests whose answer can no longer
 * come (their stream ended and could not be taken up again), where the SDK would wait for its time-out.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  constructor(url: URL, headers: Readonly<Record<string, string>>) {
    super(url, { requestInit: { headers: { ...headers } } });
  }

  override send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    if (Array.isArray(message) || !isJSONRPCRequest(message)) return super.send(message, options);
    const { id } = message;
    return super.send(message, {
      ...options,
      // Also called after the answer: the protocol layer then knows the id no more.
      onRequestStreamEnd: () => {
        this.onmessage?.({ jsonrpc: '2.0', id, error: { code: STREAM_LOST_CODE, message: STREAM_LOST } });
      },
    });
  }

  /** Tells the server that its session is over, then closes. */
  async end(): Promise<void> {
    if (this.sessionId !== undefined) {
      await Promise.race([
        // A server may refuse (405), or be gone: either way the session is over for us.
        this.terminateSession().catch(() => undefined),
        new Promise((resolve) => setTimeout(resolve, SESSION_END_MS).unref()),
      ]);
    }
    await this.close();
  }
}

/** In the range the protocol leaves to implementations. */
const STREAM_LOST_CODE = -32001;
