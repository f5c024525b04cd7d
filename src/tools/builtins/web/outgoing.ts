/**
 * Selects the proxy for outgoing requests of tools: the configured one, or otherwise that of the environment.
 */
import { StudioError } from '../../../common/errors.ts';
import { ProxyRules } from '../../../net/proxyRules.ts';
import { ClassedError } from '../../../trace/classedError.ts';

export class Outgoing {
  readonly #rules: ProxyRules;

  /** `configured`: a proxy for all hosts that are not in NO_PROXY. */
  constructor(configured: string | undefined, env: Readonly<Record<string, string | undefined>> = process.env) {
    this.#rules = new ProxyRules({ env, proxy: configured });
  }

  /** Whether any proxy is configured. */
  get any(): boolean {
    return this.#rules.any;
  }

  /**
   * Returns the proxy for a URL, if any. Throws ClassedError `tool_error` if the proxy is not an HTTP proxy.
   */
  for(url: URL): URL | undefined {
    try {
      return this.#rules.for(url);
    } catch (error) {
      throw StudioError.is(error) ? new ClassedError('tool_error', error.message) : error;
    }
  }
}
