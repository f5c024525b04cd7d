/**
 * The worker's HTTP requests to the server: blobs, events, and the submission. If the server is temporarily gone (e.g.
 * it restarts), or the session has just ended, requests wait for the server or the next session as long as the caller's
 * signal allows; the session decides when the server is gone for good.
 */
import { Agent, request } from 'undici';
import { sleep } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import { eventPage, httpError } from '../../protocol/client.ts';
import { ROLLOUT_HEADER } from '../../protocol/worker.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import type { ServerAddress } from './address.ts';

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;
const PAGE = 2_000;

interface RolloutBlob {
  readonly rollout: string;
  readonly bytes: Uint8Array;
}

export class ServerApi {
  readonly #address: ServerAddress;
  readonly #token: () => string;
  readonly #agent = new Agent({ connections: 16, pipelining: 1, keepAliveTimeout: 4_000, connect: { timeout: 5_000 } });

  /** `token` returns that of the current session. */
  constructor(address: ServerAddress, token: () => string) {
    this.#address = address;
    this.#token = token;
  }

  /** Returns the bytes of a blob. Throws StudioError `not_found` if it does not exist. */
  async getBlob(sha: string, signal: AbortSignal): Promise<Uint8Array> {
    return this.#call('GET', `/v1/blobs/${sha}`, undefined, signal);
  }

  /** Stores a blob of a rollout. Throws StudioError `too_large` and the like, but never because the server is gone. */
  async putBlob(rollout: string, sha: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#call('PUT', `/v1/blobs/${sha}`, { rollout, bytes }, signal);
  }

  /** Returns events 1..last of a rollout, those of its lineage first. */
  async events(rollout: string, last: number, signal: AbortSignal): Promise<TraceEvent[]> {
    const events: TraceEvent[] = [];
    let after = 0;
    while (after < last) {
      const bytes = await this.#call(
        'GET',
        `/v1/streams/${encodeURIComponent(rollout)}/events?after=${after}&until=${last}&limit=${PAGE}`,
        undefined,
        signal,
      );
      const page = eventPage.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
      const end = page.events.at(-1);
      if (end === undefined || end.seq <= after)
        throw new StudioError(
          'internal',
          `The server returned no events after ${after} of ${rollout}, but announced ${last}.`,
        );
      events.push(...page.events);
      after = end.seq;
    }
    return events;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #call(
    method: 'GET' | 'PUT',
    path: string,
    body: RolloutBlob | undefined,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    for (let tries = 0; ; tries++) {
      const answer = await this.#once(method, path, body, signal);
      if (answer !== undefined) return answer;
      await sleep(Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** tries) * (0.5 + Math.random() / 2), signal);
    }
  }

  /** Returns undefined if the server is gone or temporarily unable to respond, or if the session has ended. */
  async #once(
    method: 'GET' | 'PUT',
    path: string,
    body: RolloutBlob | undefined,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    let status: number;
    let bytes: Uint8Array;
    try {
      const response = await request(this.#address.origin + path, {
        method,
        dispatcher: this.#agent,
        signal,
        body: body?.bytes ?? null,
        headers: {
          authorization: `Bearer ${this.#token()}`,
          ...(body === undefined ? {} : { 'content-type': 'application/octet-stream', [ROLLOUT_HEADER]: body.rollout }),
        },
      });
      status = response.statusCode;
      bytes = new Uint8Array(await response.body.arrayBuffer());
    } catch (error) {
      if (signal.aborted) throw error;
      return undefined;
    }
    if (status >= 200 && status < 300) return bytes;
    // 507: the server's disk is full, which may be temporary.
    if (status >= 500 || status === 429 || status === 401) return undefined;
    throw refusal(status, bytes, `${method} ${path}`);
  }
}

function refusal(status: number, bytes: Uint8Array, what: string): StudioError {
  const code =
    status === 404
      ? 'not_found'
      : status === 413
        ? 'too_large'
        : status === 403
          ? 'forbidden'
          : status === 410
            ? 'gone'
            : 'internal';
  const parsed = httpError.safeParse(parse(Buffer.from(bytes).toString('utf8')));
  if (!parsed.success) return new StudioError(code, `The server returned status ${status} for ${what}.`);
  const { message, hint } = parsed.data.error;
  return new StudioError(code, message, hint === undefined ? {} : { hint });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
