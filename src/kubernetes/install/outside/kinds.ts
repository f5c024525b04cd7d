/** The kinds of objects that make the server reachable from outside, of which a cluster may lack some. */
import { StudioError } from '../../../common/errors.ts';
import type { Cluster } from '../../access/cluster.ts';
import type { Kind } from '../../access/kinds.ts';
import type { KubeObject } from '../../access/objects.ts';
import type { InstallOptions } from '../options.ts';

export const OUTSIDE_KINDS = ['Ingress', 'HTTPRoute', 'BackendTLSPolicy'] as const satisfies readonly Kind[];

/** Returns the objects with these labels; none of a kind from outside that the cluster lacks, or that is not ours to list. */
export async function ownOf(
  cluster: Cluster,
  kind: Kind,
  labels: string,
  signal: AbortSignal | undefined,
): Promise<KubeObject[]> {
  try {
    return await cluster.list(kind, { labels, signal });
  } catch (error) {
    const isOptional = OUTSIDE_KINDS.some((each) => each === kind);
    // Whoever may not list them could not create any, either.
    if (isOptional && (StudioError.is(error, 'unsupported') || StudioError.is(error, 'forbidden'))) return [];
    throw error;
  }
}

/** Says what an installation that is reached from outside still lacks. */
export function outsideNotes({ ingress, gateway, allowIngress, identity }: InstallOptions): string[] {
  if (allowIngress.length > 0) return [];
  const form = '--allow-ingress namespace:NAME';
  if (ingress !== undefined)
    return [
      `The network policy of the server admits no Ingress controller: name its namespace with ${form}, such as ` +
        '--allow-ingress namespace:ingress-nginx.',
    ];
  if (gateway !== undefined && gateway.namespace === undefined)
    return [
      'The network policy of the server admits only gateways whose pods are in a namespace that you name: ' +
        `--gateway ${gateway.name}/NAMESPACE, or ${form}.`,
    ];
  if (gateway === undefined && identity !== undefined)
    return [`The network policy of the server does not admit the proxy: name its namespace with ${form}.`];
  return [];
}
