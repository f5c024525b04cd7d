import OpenAI from 'openai';

type BuildRequest = OpenAI['buildRequest'];

/**
 * A client whose requests differ in their body only: address and headers of each path are request once. Made anew for
 * every call they cost more than sending it does.
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
