/**
 * How this process reaches servers outside: through which proxies, and which authorities it trusts. Programs read the
 * environment; the extension also has the settings of VS Code.
 */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import tls from 'node:tls';
import { ProxyRules, plainHost } from './proxyRules.ts';

export interface OutboundSettings {
  /** Instead of the proxies in the environment. */
  readonly proxy?: string | undefined;
  /** Besides NO_PROXY. */
  readonly noProxy?: readonly string[] | undefined;
  /** Whether no proxy is used at all. */
  readonly direct?: boolean | undefined;
  /** Whether authorities of the operating system are trusted too, as kubectl and browsers do. */
  readonly systemCertificates?: boolean | undefined;
  /** Whether certificates of servers behind the proxy are verified. */
  readonly strict?: boolean | undefined;
}

let current: OutboundSettings = {};
let rules: ProxyRules | undefined;
let authorities: string[] | undefined;
let isSystemTrusted = false;

/** Replaces the settings of this process; connections that are open stay. */
export function setOutbound(settings: OutboundSettings): void {
  current = settings;
  rules = undefined;
}

/** Whether any proxy is configured. */
export function anyProxy(): boolean {
  return current.direct !== true && currentRules().any;
}

/** Returns the proxy for a host, if any. */
export function proxyFor(url: URL): URL | undefined {
  if (current.direct === true) return undefined;
  return currentRules().for(url);
}

/**
 * Returns the proxy for a connection, if any. Services of a cluster have short names, such as `collector` or
 * `collector.observability`, which no proxy knows: inside a cluster, their addresses decide.
 */
export async function proxyTo(url: URL, addressesOf: AddressesOf = lookupAll): Promise<URL | undefined> {
  const proxy = proxyFor(url);
  const host = plainHost(url);
  const isShort =
    process.env['KUBERNETES_SERVICE_HOST'] !== undefined && isIP(host) === 0 && host.split('.').length < 3;
  if (proxy === undefined || !isShort) return proxy;
  const addresses = await addressesOf(host);
  const isExcepted = ({ address, family }: LookupAddress): boolean => {
    const at = new URL(url);
    at.hostname = family === 6 ? `[${address}]` : address;
    return proxyFor(at) === undefined;
  };
  return addresses.length > 0 && addresses.every(isExcepted) ? undefined : proxy;
}

type AddressesOf = (host: string) => Promise<readonly LookupAddress[]>;
const LOOKUP_MS = 3_000;

/** Nothing is known about a name that does not exist, or that nobody answers for in time. */
async function lookupAll(host: string): Promise<LookupAddress[]> {
  const found = lookup(host, { all: true }).catch(() => []);
  return await Promise.race([found, delay(LOOKUP_MS, [], { ref: false })]);
}

function currentRules(): ProxyRules {
  return (rules ??= new ProxyRules({ env: environment(), proxy: current.proxy, noProxy: current.noProxy }));
}

/** ALL_PROXY is often a SOCKS proxy for other programs. */
function environment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name, value]) => !/^all_proxy$/i.test(name) || /^http/.test(value ?? '')));
}

/** Whether certificates are verified where nothing else is configured. */
export function isStrict(): boolean {
  return current.strict !== false;
}

/** Errors of a server whose authority Node.js does not know. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

/**
 * Trusts what the operating system trusts from now on, if that may help after an error, and returns whether it may.
 * Reading all authorities can take half a second, so this waits until one is missing. `trusted`: what `trustsSystem`
 * returned when the connection began.
 */
export function trustSystemAfter(error: unknown, trusted: boolean): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (trusted || current.systemCertificates === false || !UNTRUSTED.has(code)) return false;
  if (!('getCACertificates' in tls)) return false;
  isSystemTrusted = true;
  return true;
}

/**
 * Returns the settings of TLS for a server whose authority is not configured, with the authorities of Node.js,
 * NODE_EXTRA_CA_CERTS, and the operating system; undefined as long as the first two are enough.
 */
export function trustedContext(
  options: Pick<tls.SecureContextOptions, 'cert' | 'key' | 'passphrase'> = {},
): tls.SecureContext | undefined {
  if (!isSystemTrusted || current.systemCertificates === false) return undefined;
  authorities ??= [...new Set([...tls.getCACertificates('default'), ...tls.getCACertificates('system')])];
  return tls.createSecureContext({ ...options, ca: authorities });
}

/** Whether what the operating system trusts is trusted. */
export function trustsSystem(): boolean {
  return isSystemTrusted;
}
