import OpenAI from 'openai';
import type { PostTarget } from './transport.ts';

/**
 * A client whose requests differ only in their body: it builds the address and headers of each path once, because
 * building them for every call costs more than sending the call.
 */
export class SteadyClient extends OpenAI {
  readonly #targets = new Map<string, Promise<PostTarget>>();

  /** Returns where a request with JSON text goes, and with which headers. Rejects for an invalid address. */
  target(path: string): Promise<PostTarget> {
    let target = this.#targets.get(path);
    if (target === undefined) this.#targets.set(path, (target = this.#build(path)));
    return target;
  }

  async #build(path: string): Promise<PostTarget> {
    const { req, url } = await this.buildRequest({
      method: 'post',
      path,
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    const { origin, pathname, search } = new URL(url);
    return { origin, path: pathname + search, headers: Object.fromEntries(req.headers) };
  }
}
