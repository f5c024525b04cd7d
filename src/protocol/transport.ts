/** How requests reach a server: straight over HTTP, through the host of a webview, or from what a saved page holds. */
import { StudioError } from '../common/errors.ts';

export interface ServerAddress {
  /** `http://127.0.0.1:4711`, without a slash at the end. */
  readonly url: string;
  readonly token: string;
  /** Certificates (PEM) to trust instead of the usual ones. Node alone can do it. */
  readonly ca?: string;
}

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface WireRequest {
  readonly method: string;
  /** From `/v1/` on, with its query. */
  readonly path: string;
  /** Text is JSON, bytes are a blob. */
  readonly body?: string | Uint8Array;
  /** Of a blob: only these bytes, both ends with them. Who cannot give a part gives the whole. */
  readonly range?: ByteRange;
  readonly signal?: AbortSignal;
}

export interface WireReply {
  readonly status: number;
  text(): Promise<string>;
  bytes(): Promise<Uint8Array>;
}

export interface Transport {
  /**
   * Any status is an answer. Throws StudioError `unavailable` when there is none, `cancelled` when the signal aborted.
   */
  request(request: WireRequest): Promise<WireReply>;
}

/** Over HTTP. `address` is asked at every call: a server that was started anew has another port. */
export function fetchTransport(address: () => ServerAddress): Transport {
  return {
    async request({ method, path, body, range, signal }) {
      const { url, token } = address();
      try {
        const response = await fetch(url + path, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            ...(body === undefined
              ? {}
              : { 'content-type': typeof body === 'string' ? 'application/json' : 'application/octet-stream' }),
            ...(range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` }),
          },
          ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
          ...(signal === undefined ? {} : { signal }),
        });
        return {
          status: response.status,
          text: () => response.text(),
          bytes: async () => new Uint8Array(await response.arrayBuffer()),
        };
      } catch (error) {
        if (signal?.aborted === true)
          throw new StudioError('cancelled', 'The request was cancelled.', { cause: error });
        throw new StudioError('unavailable', `The rollout server at ${url} does not answer.`, {
          hint: 'Run the command again: it starts the server when none is there.',
          cause: error,
        });
      }
    },
  };
}
