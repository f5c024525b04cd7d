/** Parts that all our pods share. */

/** User and group as a number, which works in images without a name for it; mounted files belong to them. */
const USER = 1000;
/** Mode of secret files: readable by their group, which is `fsGroup`. */
export const SECRET_MODE = 0o440;

/** Security of a pod whose containers run as an ordinary user. */
export const POD_SECURITY = {
  runAsUser: USER,
  runAsGroup: USER,
  fsGroup: USER,
  runAsNonRoot: true,
  // A start does not walk through a volume of millions of files.
  fsGroupChangePolicy: 'OnRootMismatch',
  seccompProfile: { type: 'RuntimeDefault' },
} as const;

/** Security of a container that writes to its volumes only. */
export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
} as const;

/** Returns an init container that makes our user the owner of a node's folder, which the kubelet created as root. */
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
