/** Which objects of an installation belong to the cluster rather than to its namespace. */
import type { KubeObject } from '../access/objects.ts';
import { identityBinding } from '../names.ts';

/** What belongs to the cluster, and may be missing: the server runs without it. */
export type ClusterPart = 'admission' | 'identities';

/** Returns which part of the cluster an object is; undefined for objects of the namespace. */
export function clusterPart({ kind, metadata }: KubeObject, namespace: string): ClusterPart | undefined {
  if (kind.startsWith('ValidatingAdmissionPolicy')) return 'admission';
  return metadata.name === identityBinding(namespace) ? 'identities' : undefined;
}
