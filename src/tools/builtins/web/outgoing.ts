/**
 * The proxy that leads out of a network: as the file tells it, else as HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY
 * do.
 */
import { isIP } from 'node:net';
import { ClassedError } from '../../../trace/classedError.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export class Outgoing {
  readonly #told: string | undefined;
  readonly #env: Environment;

  /** `told`: a proxy for all addresses that NO_PROXY does not name. */
  constructor(told: string | undefined, env: Environment = process.env) {
    this.#told = told;
    this.#env = env;
  }

  /** Whether any address needs one. */
  get any(): boolean {
    return (
      this.#told !== undefined ||
      ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].some((name) => this.#variable(name) !== undefined)
    );
  }

  /**
   * The proxy for an address; undefined: none. Throws ClassedError `tool_error` for one that HTTP cannot be spoken to.
   */
  for(url: URL): URL | undefined {
    const value =
      this.#told ??
      this.#variable(url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY') ??
      this.#variable('ALL_PROXY');
    const host = plainHost(url);
    if (value === undefined || isOwn(host) || this.#excepted(host, url.port)) return undefined;
    const written = value.includes('://') ? value : `http://${value}`;
    const proxy = URL.canParse(written) ? new URL(written) : undefined;
    // Its address is told to nobody: a password may be in it.
    if (proxy?.protocol !== 'http:' && proxy?.protocol !== 'https:')
      throw new ClassedError('tool_error', 'The proxy that is set is no address that begins with http:// or https://.');
    return proxy;
  }

  #excepted(host: string, port: string): boolean {
    return (this.#variable('NO_PROXY') ?? '').split(/[\s,]+/).some((written) => {
      if (written === '') return false;
      if (written === '*') return true;
      const [, name = written, only] = isIP(written) === 6 ? [] : (/^(.*?)(?::(\d+))?$/.exec(written) ?? []);
      const suffix = name.replace(/^\*?\./, '').toLowerCase();
      return (only === undefined || only === port) && (host === suffix || host.endsWith(`.${suffix}`));
    });
  }

  #variable(name: string): string | undefined {
    const value = this.#env[name.toLowerCase()] ?? this.#env[name];
    return value === undefined || value.trim() === '' ? undefined : value.trim();
  }
}

/** What a proxy is told of who asks. */
export function proxyAuthorization({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {};
  return {
    'proxy-authorization': `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`,
  };
}

/** Without the brackets of IPv6. */
export function plainHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function isOwn(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127\./.test(host);
}
