/**
 * Restricts which network addresses tools can access. Pages can direct agents to other URLs, so by default tools cannot
 * access this machine and its network, where services often trust everyone. Host names are checked when connecting, so
 * that they cannot change their address after the check (DNS rebinding).
 */
import { type LookupAddress, type LookupOptions, lookup as resolve } from 'node:dns';
import { lookup as resolveNow } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { ClassedError } from '../../../trace/classedError.ts';

/** The IANA registries of special-purpose addresses, multicast, and where Azure answers its virtual machines. */
const SPECIAL = new BlockList();
for (const network of [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
])
  addSubnet(SPECIAL, network, 'ipv4');
for (const network of ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'])
  addSubnet(SPECIAL, network, 'ipv6');

/** The part of IPv6 from which global addresses are assigned: everything else is special, too. */
const GLOBAL = new BlockList();
addSubnet(GLOBAL, '2000::/3', 'ipv6');

/** IPv6 networks whose addresses end with the IPv4 address that they stand for: IPv4-mapped, and NAT64. */
const TRANSLATED = new BlockList();
for (const network of ['::ffff:0:0/96', '64:ff9b::/96']) addSubnet(TRANSLATED, network, 'ipv6');

function addSubnet(list: BlockList, network: string, family: 'ipv4' | 'ipv6'): void {
  const [address = '', bits] = network.split('/');
  list.addSubnet(address, Number(bits), family);
}

/** Returns whether an address is not on the public internet. */
export function isPrivate(address: string): boolean {
  if (isIP(address) !== 6) return SPECIAL.check(address, 'ipv4');
  const plain = address.replace(/%.*$/s, ''); // without the zone
  if (TRANSLATED.check(plain, 'ipv6')) return SPECIAL.check(ipv4In(plain), 'ipv4');
  return !GLOBAL.check(plain, 'ipv6') || SPECIAL.check(plain, 'ipv6');
}

/** Returns the IPv4 address at the end of an IPv6 address. */
function ipv4In(address: string): string {
  // A URL writes the end as groups of hexadecimal digits, and `::` for zeros.
  const groups = `0:0${new URL(`http://[${address}]`).hostname.slice(1, -1)}`.replace(/::$/, ':0:0').split(':');
  return groups
    .slice(-2)
    .map((group) => Number.parseInt(group === '' ? '0' : group, 16))
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.');
}

/** Decides which addresses a set of tools can access. */
export class Gate {
  readonly #open: boolean;
  readonly #allowed: BlockList | undefined;
  readonly #hint: string;

  /** `open` allows all addresses, `allowed` some that are not on the public internet. `hint`: how to allow more. */
  constructor(open: boolean, { allowed, hint = HINT }: { readonly allowed?: BlockList; readonly hint?: string } = {}) {
    this.#open = open;
    this.#allowed = allowed;
    this.#hint = hint;
  }

  /** Returns the gate for connections to the host and port of a URL. */
  for(url: URL): Gate {
    return this.opens(url) ? new Gate(true) : this;
  }

  /** Whether the host and port of a URL can be accessed whatever its address is. */
  protected opens(_url: URL): boolean {
    return this.#open;
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
    if (isIP(host) !== 0 && !this.for(url).#allows(host)) throw refused(host, this.#hint);
    return url;
  }

  /**
   * Checks a host that is accessed through a proxy, which resolves the name itself: uses the local resolution, if there
   * is one, of which no address may be private, because the proxy chooses. Throws ClassedError `tool_error`.
   */
  async checkName(host: string): Promise<void> {
    if (this.#open || isIP(host) !== 0) return; // addresses were checked already
    const addresses = await resolveNow(host, { all: true }).catch(() => []);
    if (addresses.some(({ address }) => !this.#allows(address))) throw refused(host, this.#hint);
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
        const allowed = addresses.filter(({ address }) => this.#allows(address));
        const [first] = allowed;
        if (first === undefined) callback(refused(hostname, this.#hint), all ? [] : '', 0);
        else if (all) callback(null, allowed);
        else callback(null, first.address, first.family);
      },
    );
  };

  #allows(address: string): boolean {
    if (this.#open || !isPrivate(address)) return true;
    return this.#allowed?.check(address.replace(/%.*$/s, ''), isIP(address) === 6 ? 'ipv6' : 'ipv4') === true;
  }
}

const HINT = 'To allow it, set `private_addresses: true` in the agent file.';

function refused(host: string, hint: string): ClassedError {
  return new ClassedError(
    'tool_error',
    `${host} is on this machine or its network, which this tool cannot access. ${hint}`,
  );
}
