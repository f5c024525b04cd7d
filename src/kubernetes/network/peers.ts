/** Peers and rules of network policies. No rule ever allows the addresses where clouds give credentials to machines. */
import { BlockList, isIP, isIPv6 } from 'node:net';
import { StudioError } from '../../common/errors.ts';

export interface Peer {
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
  readonly namespaceSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
}
export interface Port {
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
}
export interface EgressRule {
  readonly to: readonly Peer[];
  readonly ports?: readonly Port[];
}
export interface IngressRule {
  readonly from: readonly Peer[];
  readonly ports?: readonly Port[];
}

/** Where clouds answer their machines: AWS, GCP, Azure, …; ECS and EKS; Azure; Alibaba; Oracle; and over IPv6. */
const METADATA = [
  '169.254.169.254/32',
  '169.254.170.0/24',
  '168.63.129.16/32',
  '100.100.100.200/32',
  '192.0.0.192/32',
  'fd00:ec2::254/128',
  'fd00:ec2::23/128',
  'fd20:ce::254/128',
];
/** Networks that a wider one leaves out: all link-local addresses too. */
const LEFT_OUT = ['169.254.0.0/16', 'fe80::/10', ...METADATA];

/** Every address but those of metadata. */
export const ANYWHERE: readonly Peer[] = ['0.0.0.0/0', '::/0'].map((cidr) => network(cidr));

/** The pods of a namespace. */
export function namespacePods(namespace: string): Peer {
  return { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } };
}

/** The network `cidr`, without the addresses of metadata. Throws `usage` for one that has no others. */
export function network(cidr: string): Peer {
  if (METADATA.some((blocked) => contains(blocked, cidr)))
    throw new StudioError('usage', `${cidr} is where clouds give credentials to machines. It stays blocked.`);
  const inside = LEFT_OUT.filter((blocked) => blocked !== cidr && contains(cidr, blocked));
  const except = inside.filter((one) => !inside.some((other) => other !== one && contains(other, one)));
  return { ipBlock: { cidr, ...(except.length === 0 ? {} : { except }) } };
}

/** A single address, or undefined for one of metadata or of the machine itself. */
export function address(ip: string): Peer | undefined {
  const cidr = isIPv6(ip) ? `${ip}/128` : `${ip}/32`;
  if (['127.0.0.0/8', '::1/128', ...METADATA].some((own) => contains(own, cidr))) return undefined;
  return network(cidr);
}

function contains(outer: string, inner: string): boolean {
  const [outerAddress = '', outerBits = ''] = outer.split('/');
  const [innerAddress = '', innerBits = ''] = inner.split('/');
  const family = isIPv6(outerAddress) ? 'ipv6' : 'ipv4';
  if ((isIPv6(innerAddress) ? 'ipv6' : 'ipv4') !== family || Number(innerBits) < Number(outerBits)) return false;
  const list = new BlockList();
  list.addSubnet(outerAddress, Number(outerBits), family);
  return list.check(innerAddress, family);
}

const NAMESPACE = /^namespace:([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)(?::(\d+))?$/;
const IPV4 = /^([\d.]+\/\d+)(?::(\d+))?$/;
const IPV6 = /^(?:\[([\da-f:.]+\/\d+)\]:(\d+)|([\da-f:.]+\/\d+))$/i;

/**
 * Parses what a user allows: `CIDR[:PORT]` (IPv6 with a port: `[CIDR]:PORT`) or `namespace:NAME[:PORT]`. Throws
 * `usage` for other texts.
 */
export function parseAllowed(text: string): { readonly peer: Peer; readonly port: number | undefined } {
  const [, name, ofNamespace] = NAMESPACE.exec(text) ?? [];
  if (name !== undefined) return { peer: namespacePods(name), port: portOf(ofNamespace, text) };
  const [, four, ofFour] = IPV4.exec(text) ?? [];
  const [, six, ofSix, plain] = IPV6.exec(text) ?? [];
  const cidr = four ?? six ?? plain;
  if (cidr === undefined || !isCidr(cidr)) throw notAllowed(text);
  return { peer: network(cidr), port: portOf(ofFour ?? ofSix, text) };
}

function isCidr(text: string): boolean {
  const [ip = '', bits = ''] = text.split('/');
  const version = isIP(ip);
  return version !== 0 && Number(bits) <= (version === 4 ? 32 : 128);
}

function portOf(digits: string | undefined, text: string): number | undefined {
  if (digits === undefined) return undefined;
  const port = Number(digits);
  if (port < 1 || port > 65_535) throw notAllowed(text);
  return port;
}

function notAllowed(text: string): StudioError {
  return new StudioError(
    'usage',
    `“${text}” is not a network. Expected CIDR[:PORT] or namespace:NAME[:PORT], e.g. 10.0.0.0/8:443.`,
  );
}

/** Returns the rule that allows connections to what `parseAllowed` accepts. Without a port, all ports and protocols. */
export function allowedEgress(text: string): EgressRule {
  const { peer, port } = parseAllowed(text);
  return { to: [peer], ...(port === undefined ? {} : { ports: [{ protocol: 'TCP', port }] }) };
}
