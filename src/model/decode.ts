/** Texts of tokens, from an endpoint that can decode them, such as vLLM with its route `/detokenize`. */
import { z } from 'zod';
import { jsonOf } from '../common/json.ts';
import type { ModelConnections, Target } from './connections.ts';
import { EndpointRefusal } from './http/transport.ts';

/** Texts only explain a record, so nobody waits long for them. */
const DECODE_MS = 1_000;
/** Tokens whose texts are kept for each model. */
const MAX_TEXTS = 10_000;

const decoded = z.object({ prompt: z.string() });

/** Decodes tokens of one model at one endpoint, each only once. */
export class TokenDecoder {
  readonly #texts = new Map<number, string>();
  #unsupported = false;

  /**
   * Returns the text of each token, or undefined if the endpoint cannot say it, or not within a second. Bytes that are
   * no whole character become U+FFFD. Never throws.
   */
  async decode(
    ids: readonly number[],
    model: string,
    target: Target,
    connections: ModelConnections,
    signal: AbortSignal,
  ): Promise<readonly string[] | undefined> {
    if (this.#unsupported) return undefined;
    try {
      return await Promise.all(
        ids.map(async (id) => {
          const known = this.#texts.get(id);
          if (known !== undefined) return known;
          const text = await this.#ask(id, model, target, connections, signal);
          if (this.#texts.size >= MAX_TEXTS) this.#texts.clear();
          this.#texts.set(id, text);
          return text;
        }),
      );
    } catch (thrown) {
      // Other endpoints than vLLM do not have the route.
      if (thrown instanceof EndpointRefusal && thrown.status !== 429 && thrown.status < 500) this.#unsupported = true;
      return undefined;
    }
  }

  async #ask(
    id: number,
    model: string,
    target: Target,
    connections: ModelConnections,
    signal: AbortSignal,
  ): Promise<string> {
    // It is no part of OpenAI's API: vLLM has it at the root.
    const root = { ...target, baseUrl: target.baseUrl.replace(/\/v1$/, '') };
    const route = await connections.client(root).target('/detokenize');
    const within = AbortSignal.any([signal, AbortSignal.timeout(DECODE_MS)]);
    const { body } = await connections.transport.post(route, JSON.stringify({ model, tokens: [id] }), within).response;
    const chunks: Buffer[] = [];
    await body.pipe((chunk) => chunks.push(chunk));
    return decoded.parse(jsonOf(Buffer.concat(chunks).toString('utf8'))).prompt;
  }
}
