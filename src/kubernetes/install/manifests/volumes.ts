/** Storage as a volume of a pod, and as the claim it needs. */

import type { KubeObject } from '../../access/objects.ts';
import type { Storage } from '../storage.ts';
import { object, type Place } from './object.ts';

/** The volume that holds data; undefined for what is no folder. `claim`: name of its PersistentVolumeClaim. */
export function dataVolume(
  name: string,
  storage: Storage,
  claim: string,
): Readonly<Record<string, unknown>> | undefined {
  switch (storage.kind) {
    case 'pvc':
      return { name, persistentVolumeClaim: { claimName: claim } };
    case 'hostPath':
      return { name, hostPath: { path: storage.folder, type: 'DirectoryOrCreate' } };
    case 'emptyDir':
      return { name, emptyDir: {} };
    case 'postgres':
      return undefined;
  }
}

/** The claim a storage needs, if any. */
export function claimOf(
  claim: string,
  storage: Storage,
  size: string,
  place: Place,
  accessMode: 'ReadWriteOnce' | 'ReadWriteMany',
): KubeObject[] {
  if (storage.kind !== 'pvc') return [];
  return [
    object('PersistentVolumeClaim', claim, place, {
      spec: {
        accessModes: [accessMode],
        resources: { requests: { storage: size } },
        ...(storage.storageClass === undefined ? {} : { storageClassName: storage.storageClass }),
      },
    }),
  ];
}
