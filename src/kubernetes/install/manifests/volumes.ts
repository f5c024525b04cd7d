/** Turns a storage into the volume of a pod, and into the claim that it needs. */

import type { KubeObject } from '../../access/objects.ts';
import type { Storage } from '../storage.ts';
import { object, type Place } from './object.ts';

/**
 * Returns the volume that holds data, or undefined for a database. `claim`: name of its PersistentVolumeClaim; `size`:
 * limit of a folder that ends with its pod.
 */
export function dataVolume(
  name: string,
  storage: Storage,
  claim: string,
  size: string,
): Readonly<Record<string, unknown>> | undefined {
  switch (storage.kind) {
    case 'pvc':
      return { name, persistentVolumeClaim: { claimName: claim } };
    case 'claim':
      return { name, persistentVolumeClaim: { claimName: storage.claim } };
    case 'hostPath':
      return { name, hostPath: { path: storage.folder, type: 'DirectoryOrCreate' } };
    case 'emptyDir':
      return { name, emptyDir: { sizeLimit: size } };
    case 'postgres':
      return undefined;
  }
}

/**
 * Keep data when an installation is removed or pruned with Helm, Argo CD, or Flux, as `rollout cluster uninstall` does.
 */
const KEPT = {
  'helm.sh/resource-policy': 'keep',
  'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
  'kustomize.toolkit.fluxcd.io/prune': 'disabled',
};

/** Returns the claim that a storage needs, if any. */
export function claimOf(
  claim: string,
  storage: Storage,
  size: string,
  place: Place,
  accessMode: 'ReadWriteOnce' | 'ReadWriteMany',
): KubeObject[] {
  if (storage.kind !== 'pvc') return [];
  const claimed = object('PersistentVolumeClaim', claim, place, {
    spec: {
      accessModes: [accessMode],
      resources: { requests: { storage: size } },
      ...(storage.storageClass === undefined ? {} : { storageClassName: storage.storageClass }),
    },
  });
  return [{ ...claimed, metadata: { ...claimed.metadata, annotations: KEPT } }];
}
