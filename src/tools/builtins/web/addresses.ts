/**
 * Where tools may go on the network. Pages tell agents where to go next, so unless a file allows it they go neither to
 * this machine nor to its network: there, services answer that trust whoever can reach them. Names are judged by the
 * addresses they have at the very connection, so a name that changes its address meanwhile gets nowhere.
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

/** Decides where one set of tools may go. */
export class Gate {
  readonly #open: boolean;

  /** `open`: to everywhere. */
  constructor(open: boolean) {
    this.#open = open;
  }

  /**
   * Throws ClassedError: `invalid_arguments` for what is no web address, `tool_error` where it may not go. Names are
   * judged at the connection.
   */
  check(address: string): URL {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
      throw new ClassedError('invalid_arguments', `"${address}" is no address that begins with http:// or https://.`);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (!this.#open && isIP(host) !== 0 && isPrivate(host)) throw refused(host);
    return url;
  }

  /**
   * Of a host that a proxy is asked for, which looks its name up itself: judged by what the name means here, where it
   * means anything. Throws ClassedError `tool_error`.
   */
  async checkName(host: string): Promise<void> {
    if (this.#open || isIP(host) !== 0) return;
    const addresses = await resolveNow(host, { all: true }).catch(() => []);
    if (addresses.length > 0 && addresses.every(({ address }) => isPrivate(address))) throw refused(host);
  }

  /** For `connect` of sockets: fails for names of this network. */
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
    `${host} is on this machine or its network, where this tool may not go. (The agent's file allows it with ` +
      '`private_addresses: true`.)',
  );
}
