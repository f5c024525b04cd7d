import OpenAI from 'openai';

type BuildRequest = OpenAI['buildRequest'];

/**
 * A client whose requests differ in their body only: address and headers of each path are made once. Made anew for
 * every call they cost more than sending it does.
 */
export class SteadyClient extends OpenAI {
  readonly #made = new Map<string, Awaited<ReturnType<BuildRequest>>>();

  override async buildRequest(...[options, extra]: Parameters<BuildRequest>): ReturnType<BuildRequest> {
    const { body, method, path, signal } = options;
    if (typeof body !== 'string' && body !== undefined) return super.buildRequest(options, extra);
    const key = `${method} ${path}`;
    let made = this.#made.get(key);
    if (made === undefined)
      this.#made.set(
        key,
        (made = await super.buildRequest(
          { ...options, signal: null, body: typeof body === 'string' ? '{}' : undefined },
          extra,
        )),
      );
    return {
      ...made,
      req: { ...made.req, ...(body === undefined ? {} : { body }), ...(signal == null ? {} : { signal }) },
    };
  }
}
