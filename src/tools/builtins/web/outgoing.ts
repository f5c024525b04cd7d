/**
 * Selects the proxy for outgoing requests: the configured one, or otherwise from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY,
 * and NO_PROXY.
 */
import { isIP } from 'node:net';
import { ClassedError } from '../../../trace/classedError.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export class Outgoing {
  readonly #configured: string | undefined;
  readonly #env: Environment;

  /** `configured`: a proxy for all hosts that are not in NO_PROXY. */
  constructor(configured: string | undefined, env: Environment = process.env) {
    this.#configured = configured;
    this.#env = env;
  }

  /** Whether any proxy is configured. */
  get any(): boolean {
    return (
      this.#configured !== undefined ||
      ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].some((name) => this.#variable(name) !== undefined)
    );
  }

  /**
   * Returns the proxy for a URL, if any. Throws ClassedError `tool_error` if the proxy is not an HTTP proxy.
   */
  for(url: URL): URL | undefined {
    const value =
      this.#configured ??
      this.#variable(url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY') ??
      this.#variable('ALL_PROXY');
    const host = plainHost(url);
    if (value === undefined || isOwn(host) || this.#excepted(host, url.port)) return undefined;
    const address = value.includes('://') ? value : `http://${value}`;
    const proxy = URL.canParse(address) ? new URL(address) : undefined;
    // Never shows the URL, which may contain a password.
    if (proxy?.protocol !== 'http:' && proxy?.protocol !== 'https:')
      throw new ClassedError('tool_error', 'The configured proxy is not an http:// or https:// URL.');
    return proxy;
  }

  #excepted(host: string, port: string): boolean {
    return (this.#variable('NO_PROXY') ?? '').split(/[\s,]+/).some((entry) => {
      if (entry === '') return false;
      if (entry === '*') return true;
      const [, name = entry, only] = isIP(entry) === 6 ? [] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? []);
      const suffix = name.replace(/^\*?\./, '').toLowerCase();
      return (only === undefined || only === port) && (host === suffix || host.endsWith(`.${suffix}`));
    });
  }

  #variable(name: string): string | undefined {
    const value = this.#env[name.toLowerCase()] ?? this.#env[name];
    return value === undefined || value.trim() === '' ? undefined : value.trim();
  }
}

/** Returns the authorization header for a proxy. */
export function proxyAuthorization({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {};
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  return { 'proxy-authorization': `Basic ${credentials.toString('base64')}` };
}

/** Returns the host without the brackets of IPv6. */
export function plainHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function isOwn(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127\./.test(host);
}
