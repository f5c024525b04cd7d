import OpenAI from 'openai';

type BuildRequest = OpenAI['buildRequest'];

/**
 * A client whose requests differ only in their body: it builds the address and headers of each path once, because
 * building them for every call costs more than sending the call.
 */
export class SteadyClient extends OpenAI {
  readonly #requests = new Map<string, Awaited<ReturnType<BuildRequest>>>();

  override async buildRequest(...[options, extra]: Parameters<BuildRequest>): ReturnType<BuildRequest> {
    const { body, method, path, signal } = options;
    if (typeof body !== 'string' && body !== undefined) return super.buildRequest(options, extra);
    const key = `${method} ${path}`;
    let request = this.#requests.get(key);
    if (request === undefined)
      this.#requests.set(
        key,
        (request = await super.buildRequest(
          { ...options, signal: null, body: typeof body === 'string' ? '{}' : undefined },
          extra,
        )),
      );
    return {
      ...request,
      req: { ...request.req, ...(body === undefined ? {} : { body }), ...(signal == null ? {} : { signal }) },
    };
  }
}
