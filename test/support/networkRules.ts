/** What a set of network policies allows, computed as the API documents it: for clusters that do not enforce them. */
import { BlockList, isIPv6 } from 'node:net';
import type { KubeObject } from '../../src/kubernetes/access/objects.ts';
import type { Peer, Port } from '../../src/kubernetes/network/peers.ts';

/** One end of a connection: a pod of a namespace, or an address outside of the cluster. */
export type End =
  | { readonly namespace: string; readonly labels: Readonly<Record<string, string>> }
  | { readonly ip: string };

interface Rule {
  readonly to?: readonly Peer[];
  readonly from?: readonly Peer[];
  readonly ports?: readonly Port[];
}
interface Spec {
  readonly podSelector: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
}

/** Returns whether a connection is allowed by all policies, those of both ends. */
export function isAllowed(
  policies: readonly KubeObject[],
  from: End,
  to: End,
  port: number,
  protocol = 'TCP',
): boolean {
  return (
    passes(policies, 'Egress', from, to, { port, protocol }) &&
    passes(policies, 'Ingress', to, from, { port, protocol })
  );
}

/** Returns the names of the policies that select a pod. */
export function selecting(policies: readonly KubeObject[], pod: End): string[] {
  return policies.filter((policy) => selects(policy, pod)).map(({ metadata }) => metadata.name);
}

function passes(
  policies: readonly KubeObject[],
  type: 'Ingress' | 'Egress',
  own: End,
  other: End,
  { port, protocol }: { port: number; protocol: string },
): boolean {
  const relevant = policies.filter((policy) => selects(policy, own) && specOf(policy).policyTypes.includes(type));
  if (relevant.length === 0) return true;
  return relevant.some((policy) => {
    const { ingress = [], egress = [] } = specOf(policy);
    return (type === 'Ingress' ? ingress : egress).some(
      (rule) =>
        (rule.ports?.some((each) => each.port === port && each.protocol === protocol) ?? true) &&
        ((type === 'Ingress' ? rule.from : rule.to)?.some((peer) => isPeer(peer, other, policy)) ?? true),
    );
  });
}

function specOf(policy: KubeObject): Spec {
  return policy['spec'] as Spec;
}

function selects(policy: KubeObject, end: End): boolean {
  return (
    'labels' in end &&
    policy.metadata.namespace === end.namespace &&
    has(specOf(policy).podSelector.matchLabels, end.labels)
  );
}

function has(wanted: Readonly<Record<string, string>> = {}, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

function isPeer({ ipBlock, namespaceSelector, podSelector }: Peer, end: End, policy: KubeObject): boolean {
  if ('ip' in end)
    return (
      ipBlock !== undefined && isIn(ipBlock.cidr, end.ip) && !(ipBlock.except ?? []).some((cidr) => isIn(cidr, end.ip))
    );
  if (ipBlock !== undefined) return false;
  const space = { 'kubernetes.io/metadata.name': end.namespace };
  return (
    (namespaceSelector === undefined
      ? end.namespace === policy.metadata.namespace
      : has(namespaceSelector.matchLabels, space)) && has(podSelector?.matchLabels, end.labels)
  );
}

function isIn(cidr: string, ip: string): boolean {
  const [network = '', bits] = cidr.split('/');
  const family = isIPv6(network) ? 'ipv6' : 'ipv4';
  if ((isIPv6(ip) ? 'ipv6' : 'ipv4') !== family) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family);
  return list.check(ip, family);
}
