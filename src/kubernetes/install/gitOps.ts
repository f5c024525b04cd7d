/** Installations that a GitOps tool keeps as a repository has them: it reverts what is changed past it. */
import { StudioError } from '../../common/errors.ts';
import type { Cluster } from '../access/cluster.ts';
import type { KubeObject } from '../access/objects.ts';
import { NAMES } from '../names.ts';

/** `APPLICATION:GROUP/KIND:NAMESPACE/NAME` */
const ARGO_TRACKING = 'argocd.argoproj.io/tracking-id';
/** Groups of Flux, whose labels `GROUP/name` and `GROUP/namespace` say by which of its objects another was applied. */
const FLUX_GROUPS = {
  'kustomize.toolkit.fluxcd.io': 'Flux Kustomization',
  'helm.toolkit.fluxcd.io': 'Flux HelmRelease',
} as const;

/** Returns what keeps an object, such as `the Argo CD application lab` or `the Flux Kustomization flux-system/lab`. */
export function gitOpsOwnerOf({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  const [application, ...object] = metadata.annotations?.[ARGO_TRACKING]?.split(':') ?? [];
  // Another object may have been made from a copy of one of ours.
  if (application !== undefined && application !== '' && object.at(-1)?.endsWith(`/${metadata.name}`) === true)
    return `the Argo CD application ${application}`;
  for (const [group, kind] of Object.entries(FLUX_GROUPS)) {
    const name = metadata.labels?.[`${group}/name`];
    const namespace = metadata.labels?.[`${group}/namespace`];
    if (name !== undefined) return `the ${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
  }
  return undefined;
}

/** Returns what keeps the installation in the namespace, or undefined if nothing does. */
export async function gitOpsOwner(cluster: Cluster, signal: AbortSignal | undefined): Promise<string | undefined> {
  const found = await Promise.all([
    cluster.get('Deployment', NAMES.server, { signal }),
    cluster.get('ConfigMap', NAMES.options, { signal }),
  ]);
  return found.map((object) => object && gitOpsOwnerOf(object)).find((owner) => owner !== undefined);
}

/** Throws `conflict` if a tool keeps the installation. `hint`: where to make the change instead. */
export async function requireNoGitOps(cluster: Cluster, hint: string, signal: AbortSignal): Promise<void> {
  const owner = await gitOpsOwner(cluster, signal);
  if (owner === undefined) return;
  throw new StudioError(
    'conflict',
    `The installation in namespace ${cluster.namespace} is kept by ${owner}, which may revert changes made here.`,
    { hint: `${hint} To change it here anyway, add --force.` },
  );
}
