/** Who takes calls behind a Service, as its EndpointSlices tell. */

import type { Replica } from '../../protocol/replicas.ts';
import type { EndpointSlice } from '../access/objects.ts';
import { type Component, LABEL } from '../names.ts';

/** The cluster labels slices of headless Services so, and gives slices the labels of their Service. */
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';

/** One pod of a Service with both kinds of addresses is one replica, by the first of these. */
const FAMILIES = ['IPv4', 'IPv6', 'FQDN'];
/** All else stays as it is written: a password in it is known, and kept out of records, by its text. */
const HOST_AND_PORT = /^([a-z]+:\/\/(?:[^/?#]*@)?)[^/:?#]+(?::\d*)?/i;

/**
 * The replicas behind `endpoint`, which names the Service of `slices`; undefined: it is to be called as it is. Pods are
 * called by their addresses where the Service is headless, for then that is what its name means, and where it (or who
 * made it) asks for it with the label of our models, `app.kubernetes.io/component: vllm`. A Service with an address of
 * its own is otherwise left to the cluster, which spreads its connections.
 */
export function readyReplicas(endpoint: string, slices: readonly EndpointSlice[]): readonly Replica[] | undefined {
  const asked = slices.filter(isByReplica).sort((a, b) => family(a) - family(b));
  if (asked.length === 0) return undefined;
  const found = new Map<string, Replica>();
  let unreachable = false;
  for (const slice of asked) {
    for (const {
      addresses: [address],
      conditions,
      targetRef,
    } of slice.endpoints ?? []) {
      if (address === undefined || !takesCalls(conditions)) continue;
      const port = portOf(endpoint, slice.ports ?? []);
      if (port === undefined) {
        unreachable = true;
        continue;
      }
      const host = `${address.includes(':') ? `[${address}]` : address}:${port}`;
      const url = endpoint.replace(HOST_AND_PORT, `$1${host}`);
      // A pod is in two slices while it goes from one to the other.
      const id = targetRef?.uid ?? targetRef?.name ?? url;
      const name = targetRef?.name ?? host;
      if (!found.has(id)) found.set(id, { url, name, id });
    }
  }
  // None of the ports can be told to be the model's.
  if (found.size === 0 && unreachable) return undefined;
  return [...found.values()].sort((a, b) => (a.url < b.url ? -1 : 1));
}

function isByReplica({ metadata: { labels = {} } }: EndpointSlice): boolean {
  return labels[HEADLESS_LABEL] !== undefined || labels[LABEL.component] === ('vllm' satisfies Component);
}

function family({ addressType = 'IPv4' }: EndpointSlice): number {
  const at = FAMILIES.indexOf(addressType);
  return at === -1 ? FAMILIES.length : at;
}

/**
 * `ready` is true for all of a Service that publishes also those that are not; `serving` is what they say themselves.
 */
function takesCalls({
  ready,
  serving,
  terminating,
}: NonNullable<NonNullable<EndpointSlice['endpoints']>[number]['conditions']> = {}): boolean {
  return (serving ?? ready ?? true) && terminating !== true;
}

/**
 * The port of the pods: that of the endpoint where they have it; their only one; the one called `http`. undefined:
 * nobody knows.
 */
function portOf(endpoint: string, ports: NonNullable<EndpointSlice['ports']>): number | undefined {
  const { port } = new URL(endpoint);
  const wanted = port === '' ? 80 : Number(port);
  const tcp = ports.filter(({ protocol }) => (protocol ?? 'TCP') === 'TCP');
  // Without any, or with one that stands for all, it is called as it is.
  if (ports.length === 0 || tcp.some((each) => (each.port ?? wanted) === wanted)) return wanted;
  const only = tcp.length === 1 ? tcp[0] : tcp.find(({ name }) => name === 'http');
  return only?.port ?? undefined;
}
