/**
 * How many tokens a text has by the tokenizer of the model itself: vLLM and servers like it answer `POST /tokenize`.
 */
import { z } from 'zod';

export interface TokenizeTarget {
  /** Up to `/v1`, with all values put in. */
  readonly endpoint: string;
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

interface Question {
  readonly target: TokenizeTarget;
  readonly text: string;
  readonly answer: (count: number | undefined) => void;
}

const TIMEOUT_MS = 3_000;
/** While somebody types there is a new text at every keystroke: only the newest are asked for. */
const MAX_WAITING = 4;
/** An endpoint that did not answer is left alone for so long. */
const REST_MS = 5 * 60_000;

const answer = z.object({ count: z.int().min(0) });

/** Asks one after another. Remembers no counts, only who cannot tell. */
export class Tokenizers {
  /** Endpoints that cannot tell, and until when they are not asked. */
  readonly #resting = new Map<string, number>();
  readonly #waiting: Question[] = [];
  #busy = false;
  readonly #fetch: typeof fetch;
  readonly #now: () => number;

  constructor(ask: typeof fetch = fetch, now: () => number = Date.now) {
    this.#fetch = ask;
    this.#now = now;
  }

  /** undefined where the endpoint does not tell, and for a text that newer ones have pushed out. */
  count(target: TokenizeTarget, text: string): Promise<number | undefined> {
    return new Promise((resolve) => {
      this.#waiting.push({ target, text, answer: resolve });
      if (this.#waiting.length > MAX_WAITING) this.#waiting.shift()?.answer(undefined);
      if (!this.#busy) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#busy = true;
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
      const { endpoint } = next.target;
      const count =
        (this.#resting.get(endpoint) ?? 0) > this.#now() ? undefined : await this.#ask(next.target, next.text);
      if (count === undefined && !this.#resting.has(endpoint)) this.#resting.set(endpoint, this.#now() + REST_MS);
      next.answer(count);
    }
    this.#busy = false;
  }

  async #ask({ endpoint, model, apiKey, headers }: TokenizeTarget, text: string): Promise<number | undefined> {
    this.#resting.delete(endpoint);
    try {
      const response = await this.#fetch(`${endpoint.replace(/\/+$/, '').replace(/\/v1$/, '')}/tokenize`, {
        method: 'POST',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: {
          'content-type': 'application/json',
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
          ...headers,
        },
        body: JSON.stringify({ model, prompt: text, add_special_tokens: false }),
      });
      if (!response.ok) return undefined;
      return answer.safeParse(await response.json()).data?.count;
    } catch {
      return undefined; // not there, too slow, or no such server: an estimate does
    }
  }
}
