/** Parts of the pods of an installation. */
import { CONTAINER_SECURITY, USER } from '../../security/podSecurity.ts';

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
  // With the default for the version: both are one field, which two ways to apply it would otherwise dispute.
  return { name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } };
}
