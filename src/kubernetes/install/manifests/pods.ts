/** What all pods of ours have in common. */

/** User and group: numbers, so that images need to know no name, and mounted files are theirs. */
const USER = 1000;
/** Mode of files that are secret: their group may read them, which is `fsGroup`. */
export const SECRET_MODE = 0o440;

/** Security of a pod whose containers run as nobody in particular. */
export const POD_SECURITY = {
  runAsUser: USER,
  runAsGroup: USER,
  fsGroup: USER,
  runAsNonRoot: true,
  // A volume of millions of files is not walked through at each start.
  fsGroupChangePolicy: 'OnRootMismatch',
  seccompProfile: { type: 'RuntimeDefault' },
} as const;

/** Security of a container: its files are what its volumes hold. */
export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
} as const;

/** An init container that gives a folder of the node, which the kubelet made as root, to our user. */
export function folderOwner(
  image: string,
  pullPolicy: string,
  volume: string,
  folder: string,
): Readonly<Record<string, unknown>> {
  return {
    name: 'owner',
    image,
    imagePullPolicy: pullPolicy,
    command: ['node', '-e', `require('node:fs').chownSync(${JSON.stringify(folder)}, ${USER}, ${USER})`],
    securityContext: {
      ...CONTAINER_SECURITY,
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      capabilities: { drop: ['ALL'], add: ['CHOWN'] },
    },
    volumeMounts: [{ name: volume, mountPath: folder }],
  };
}

export function secretEnv(name: string, secret: string, key: string): Readonly<Record<string, unknown>> {
  return { name, valueFrom: { secretKeyRef: { name: secret, key } } };
}

export function fieldEnv(name: string, fieldPath: string): Readonly<Record<string, unknown>> {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}
