/**
 * Counts tokens with the model's tokenizer: vLLM and similar servers support `POST /tokenize`.
 */
import { z } from 'zod';
import { jsonOf } from '../../common/json.ts';
import type { outboundRequest } from '../../net/outboundRequest.ts';

export interface TokenizeTarget {
  /** URL up to `/v1`, with variables resolved. */
  readonly endpoint: string;
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

interface CountRequest {
  readonly target: TokenizeTarget;
  readonly text: string;
  readonly resolve: (count: number | undefined) => void;
}

const TIMEOUT_MS = 3_000;
/** Replies list all tokens. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Maximum queue length. Every keystroke adds a text, so older ones are dropped. */
const MAX_QUEUED = 4;
/** How long to skip an endpoint that did not respond. */
const RETRY_MS = 5 * 60_000;

const countReply = z.object({ count: z.int().min(0) });

/** Counts one text at a time. Does not cache counts, only failing endpoints. */
export class Tokenizers {
  /** Failing endpoints, with the time until they are skipped. */
  readonly #retryAt = new Map<string, number>();
  readonly #queue: CountRequest[] = [];
  #busy = false;
  readonly #send: typeof outboundRequest;
  readonly #now: () => number;

  constructor(send: typeof outboundRequest, now: () => number = Date.now) {
    this.#send = send;
    this.#now = now;
  }

  /** Returns undefined if the endpoint fails or newer texts replaced this one. */
  count(target: TokenizeTarget, text: string): Promise<number | undefined> {
    return new Promise((resolve) => {
      this.#queue.push({ target, text, resolve });
      if (this.#queue.length > MAX_QUEUED) this.#queue.shift()?.resolve(undefined);
      if (!this.#busy) void this.#countQueue();
    });
  }

  async #countQueue(): Promise<void> {
    this.#busy = true;
    for (let next = this.#queue.pop(); next !== undefined; next = this.#queue.pop()) {
      const { endpoint } = next.target;
      const count =
        (this.#retryAt.get(endpoint) ?? 0) > this.#now() ? undefined : await this.#request(next.target, next.text);
      if (count === undefined && !this.#retryAt.has(endpoint)) this.#retryAt.set(endpoint, this.#now() + RETRY_MS);
      next.resolve(count);
    }
    this.#busy = false;
  }

  async #request({ endpoint, model, apiKey, headers }: TokenizeTarget, text: string): Promise<number | undefined> {
    this.#retryAt.delete(endpoint);
    try {
      const response = await this.#send(`${endpoint.replace(/\/+$/, '').replace(/\/v1$/, '')}/tokenize`, {
        method: 'POST',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: {
          'content-type': 'application/json',
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
          ...headers,
        },
        body: JSON.stringify({ model, prompt: text, add_special_tokens: false }),
      });
      if (response.ok) return countReply.safeParse(jsonOf(await response.text(MAX_BYTES))).data?.count;
      await response.drop();
      return undefined;
    } catch {
      return undefined; // unavailable, too slow, or unsupported; use the estimate
    }
  }
}
