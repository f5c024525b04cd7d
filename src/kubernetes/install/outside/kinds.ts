/** Kinds of objects that only some installations have, and of which a cluster may lack some: gateways, autoscaling. */
import { StudioError } from '../../../common/errors.ts';
import type { Cluster } from '../../access/cluster.ts';
import type { Kind } from '../../access/kinds.ts';
import type { KubeObject } from '../../access/objects.ts';
import type { InstallOptions } from '../options.ts';
import { modelsOf } from '../vllm/models.ts';

export const OPTIONAL_KINDS = [
  ...(['Ingress', 'HTTPRoute', 'BackendTLSPolicy'] as const),
  ...(['ScaledObject', 'HorizontalPodAutoscaler'] as const),
] satisfies readonly Kind[];

/**
 * Returns the objects with these labels; none of an optional kind that the cluster lacks, or that the account may not
 * list.
 */
export async function ownOf(
  cluster: Cluster,
  kind: Kind,
  labels: string,
  signal: AbortSignal | undefined,
): Promise<KubeObject[]> {
  try {
    const found: KubeObject[] = await cluster.list(kind, { labels, signal });
    // KEDA copies labels of its object to the autoscaler that it owns.
    return kind === 'HorizontalPodAutoscaler'
      ? found.filter(({ metadata }) => (metadata.ownerReferences ?? []).length === 0)
      : found;
  } catch (error) {
    const isOptional = OPTIONAL_KINDS.some((each) => each === kind);
    // Whoever may not list them could not create any, either.
    if (isOptional && (StudioError.is(error, 'unsupported') || StudioError.is(error, 'forbidden'))) return [];
    throw error;
  }
}

/** Says what an installation that others reach still lacks. */
export function outsideNotes(options: InstallOptions): string[] {
  if (options.allowIngress.length > 0) return [];
  const scaled = modelsOf(options).some((model) => model.options.autoscale !== undefined);
  return [
    ...clientNotes(options),
    ...(scaled
      ? [
          'The network policies of the models and of the server do not admit the Prometheus that autoscaling needs: ' +
            `name its namespace with ${FORM}.`,
        ]
      : []),
  ];
}

const FORM = '--allow-ingress namespace:NAME';

function clientNotes({ ingress, gateway, identity }: InstallOptions): string[] {
  if (ingress !== undefined)
    return [
      `The network policy of the server admits no Ingress controller: name its namespace with ${FORM}, such as ` +
        '--allow-ingress namespace:ingress-nginx.',
    ];
  if (gateway !== undefined && gateway.namespace === undefined)
    return [
      'The network policy of the server admits only gateways whose pods are in a namespace that you name: ' +
        `--gateway ${gateway.name}/NAMESPACE, or ${FORM}.`,
    ];
  if (gateway === undefined && identity !== undefined)
    return [`The network policy of the server does not admit the proxy: name its namespace with ${FORM}.`];
  return [];
}
