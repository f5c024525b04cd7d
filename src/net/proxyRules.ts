/**
 * Selects the proxy for a connection, as curl and Go do: from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, and NO_PROXY, or a
 * configured one.
 */
import { BlockList, isIP, isIPv6 } from 'node:net';
import { StudioError } from '../common/errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface ProxyRulesOptions {
  readonly env?: Environment;
  /** A proxy for all hosts that are not excepted, instead of those in the environment. */
  readonly proxy?: string | undefined;
  /** Hosts that are excepted, besides those in NO_PROXY. */
  readonly noProxy?: readonly string[] | undefined;
}

export class ProxyRules {
  readonly #env: Environment;
  readonly #proxy: string | undefined;
  readonly #noProxy: readonly string[];

  constructor({ env = process.env, proxy, noProxy = [] }: ProxyRulesOptions = {}) {
    this.#env = env;
    this.#proxy = proxy;
    this.#noProxy = noProxy;
  }

  /** Whether any proxy is configured. */
  get any(): boolean {
    return (
      this.#proxy !== undefined ||
      ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].some((name) => this.#variable(name) !== undefined)
    );
  }

  /** Returns the proxy for a URL, if any. Throws StudioError `config` for one that is not an HTTP proxy. */
  for(url: URL): URL | undefined {
    const isSecure = url.protocol === 'https:' || url.protocol === 'wss:';
    const value = this.#proxy ?? this.#variable(isSecure ? 'HTTPS_PROXY' : 'HTTP_PROXY') ?? this.#variable('ALL_PROXY');
    const host = plainHost(url).toLowerCase();
    const port = url.port === '' ? (isSecure ? '443' : '80') : url.port;
    if (value === undefined || isOwn(host) || this.#isExcepted(host, port)) return undefined;
    return proxyUrl(value);
  }

  #isExcepted(host: string, port: string): boolean {
    const entries = [...(this.#variable('NO_PROXY') ?? '').split(/[\s,]+/), ...this.#noProxy];
    return entries.some((entry) => entry !== '' && matches(entry.trim(), host, port));
  }

  #variable(name: string): string | undefined {
    const value = this.#env[name.toLowerCase()] ?? this.#env[name];
    return value === undefined || value.trim() === '' ? undefined : value.trim();
  }
}

/** Parses the address of a proxy. Errors never show it: it may contain a password. */
export function proxyUrl(value: string): URL {
  const address = value.includes('://') ? value : `http://${value}`;
  const proxy = URL.canParse(address) ? new URL(address) : undefined;
  if (proxy?.protocol !== 'http:' && proxy?.protocol !== 'https:')
    throw new StudioError('config', 'The configured proxy is not an http:// or https:// URL.', {
      hint:
        'Check HTTPS_PROXY, HTTP_PROXY, and ALL_PROXY, in VS Code the setting http.proxy, and proxy-url in the ' +
        'kubeconfig.',
    });
  return proxy;
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

/** An entry is `*`, a host with its subdomains, an address, or a network, each with an optional port. */
function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return contains(entry, host);
  const [, name = entry, only] = isIP(entry) === 6 ? [] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? []);
  const suffix = name
    .replace(/^\*?\./, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
  return (only === undefined || only === port) && suffix !== '' && (host === suffix || host.endsWith(`.${suffix}`));
}

function contains(network: string, host: string): boolean {
  const [base = '', bits = ''] = network.split('/');
  const version = isIP(base);
  const length = Number(bits);
  if (version === 0 || isIP(host) !== version || !Number.isInteger(length) || bits === '') return false;
  if (length < 0 || length > (version === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  const family = isIPv6(base) ? 'ipv6' : 'ipv4';
  list.addSubnet(base, length, family);
  return list.check(host, family);
}

function isOwn(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127\./.test(host);
}
