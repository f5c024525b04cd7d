/** Finds the replicas behind a Service by its EndpointSlices. */

import type { Replica, Replicas } from '../../protocol/replicas.ts';
import type { EndpointSlice } from '../access/objects.ts';
import { type Component, LABEL } from '../names.ts';

/** The cluster puts this label, and the labels of the Service, on the slices of headless Services. */
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';

/** A pod with addresses of several families is one replica, by the first of these. */
const FAMILIES = ['IPv4', 'IPv6', 'FQDN'];
/** The rest of the URL stays unchanged: records redact a password in it by its text. */
const HOST_AND_PORT = /^([a-z]+:\/\/(?:[^/?#]*@)?)[^/:?#]+(?::\d*)?/i;

/**
 * Returns the replicas behind `endpoint`, which names the Service of `slices`; undefined: call the endpoint itself.
 * Pods are called by their addresses if the Service is headless, which is what its name resolves to, or if it has the
 * label of our models, `app.kubernetes.io/component: vllm`. Any other Service is left to the cluster, which spreads its
 * connections.
 */
export function findReplicas(endpoint: string, slices: readonly EndpointSlice[]): Replicas | undefined {
  const byReplica = slices.filter(isByReplica).sort((a, b) => family(a) - family(b));
  if (byReplica.length === 0) return undefined;
  const ready = new Map<string, Replica>();
  const draining = new Set<string>();
  let unreachable = false;
  for (const slice of byReplica) {
    for (const {
      addresses: [address],
      conditions,
      targetRef,
    } of slice.endpoints ?? []) {
      if (address === undefined || !isServing(conditions)) continue;
      const isDraining = conditions?.terminating === true;
      const port = portOf(endpoint, slice.ports ?? []);
      if (port === undefined) {
        unreachable ||= !isDraining;
        continue;
      }
      const host = `${address.includes(':') ? `[${address}]` : address}:${port}`;
      const url = endpoint.replace(HOST_AND_PORT, `$1${host}`);
      // A pod is in two slices while it goes from one to the other.
      const id = targetRef?.uid ?? targetRef?.name ?? url;
      const name = targetRef?.name ?? host;
      if (isDraining) draining.add(id);
      else if (!ready.has(id)) ready.set(id, { url, name, id });
    }
  }
  // No port is certain to be the model's.
  if (ready.size === 0 && unreachable) return undefined;
  return { ready: [...ready.values()].sort((a, b) => (a.url < b.url ? -1 : 1)), draining };
}

function isByReplica({ metadata: { labels = {} } }: EndpointSlice): boolean {
  return labels[HEADLESS_LABEL] !== undefined || labels[LABEL.component] === ('vllm' satisfies Component);
}

function family({ addressType }: EndpointSlice): number {
  const at = FAMILIES.indexOf(addressType);
  return at === -1 ? FAMILIES.length : at;
}

/**
 * Returns whether an endpoint answers calls. `ready` is always true if the Service publishes pods that are not ready;
 * `serving` is the pod's own state.
 */
function isServing({
  ready,
  serving,
}: NonNullable<NonNullable<EndpointSlice['endpoints']>[number]['conditions']> = {}): boolean {
  return serving ?? ready ?? true;
}

/**
 * Returns the port of the pods: that of the endpoint if they have it, their only one, or the one called `http`;
 * undefined if none of these is certain.
 */
function portOf(endpoint: string, ports: NonNullable<EndpointSlice['ports']>): number | undefined {
  const { port } = new URL(endpoint);
  const requested = port === '' ? 80 : Number(port);
  const tcp = ports.filter(({ protocol }) => (protocol ?? 'TCP') === 'TCP');
  // No ports, or one that stands for all: the endpoint's own port is right.
  if (ports.length === 0 || tcp.some((each) => (each.port ?? requested) === requested)) return requested;
  const only = tcp.length === 1 ? tcp[0] : tcp.find(({ name }) => name === 'http');
  return only?.port ?? undefined;
}
