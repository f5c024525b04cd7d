/**
 * Restricts which network addresses tools can access. Pages can direct agents to other URLs, so by default tools cannot
 * access this machine and its network, where services often trust everyone. Host names are checked when connecting, so
 * that they cannot change their address after the check (DNS rebinding).
 */
import { type LookupAddress, type LookupOptions, lookup as resolve } from 'node:dns';
import { lookup as resolveNow } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { ClassedError } from '../../../trace/classedError.ts';

const PRIVATE = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv6');

export function isPrivate(address: string): boolean {
  return PRIVATE.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Decides which addresses a set of tools can access. */
export class Gate {
  readonly #open: boolean;

  /** `open` allows all addresses. */
  constructor(open: boolean) {
    this.#open = open;
  }

  /**
   * Parses and checks a URL; host names are checked when connecting. Throws ClassedError: `invalid_arguments` for an
   * invalid URL, `tool_error` if access is not allowed.
   */
  check(address: string): URL {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
      throw new ClassedError('invalid_arguments', `"${address}" is not an http:// or https:// URL.`);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (!this.#open && isIP(host) !== 0 && isPrivate(host)) throw refused(host);
    return url;
  }

  /**
   * Checks a host that is accessed through a proxy, which resolves the name itself: uses the local resolution, if there
   * is one. Throws ClassedError `tool_error`.
   */
  async checkName(host: string): Promise<void> {
    if (this.#open || isIP(host) !== 0) return;
    const addresses = await resolveNow(host, { all: true }).catch(() => []);
    if (addresses.length > 0 && addresses.every(({ address }) => isPrivate(address))) throw refused(host);
  }

  /** For `connect` of sockets: fails for names in a private network. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const all = options.all === true;
    resolve(
      hostname,
      { ...options, all: true } as LookupOptions & { all: true },
      (error, addresses: LookupAddress[]) => {
        if (error !== null) {
          callback(error, all ? [] : '', 0);
          return;
        }
        const allowed = this.#open ? addresses : addresses.filter(({ address }) => !isPrivate(address));
        const [first] = allowed;
        if (first === undefined) callback(refused(hostname), all ? [] : '', 0);
        else if (all) callback(null, allowed);
        else callback(null, first.address, first.family);
      },
    );
  };
}

function refused(host: string): ClassedError {
  return new ClassedError(
    'tool_error',
    `${host} is on this machine or its network, which this tool cannot access. To allow it, set ` +
      '`private_addresses: true` in the agent file.',
  );
}
