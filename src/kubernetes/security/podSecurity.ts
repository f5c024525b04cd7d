/** What every container of ours has, so that its pod passes the pod security level `restricted`. */

/** User and group as a number, which works in images without a name for it; mounted files belong to them. */
export const USER = 1000;
/** User of the programs of tools: of the same group, so that the worker and they share files, but no processes. */
export const TOOLS_USER = 1001;
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

/** Levels that a namespace can enforce, the strictest first. */
export const POD_SECURITY_LEVELS = ['restricted', 'baseline', 'privileged'] as const;
export type PodSecurityLevel = (typeof POD_SECURITY_LEVELS)[number];

const PREFIX = 'pod-security.kubernetes.io';

/** Returns the labels of a namespace that enforces `level`. It warns and audits at `restricted` in any case. */
export function podSecurityLabels(level: PodSecurityLevel): Record<string, string> {
  return {
    [`${PREFIX}/enforce`]: level,
    [`${PREFIX}/audit`]: 'restricted',
    [`${PREFIX}/warn`]: 'restricted',
  };
}

/** Returns the labels with which a namespace would enforce `restricted`, as far as it lacks them. */
export function missingPodSecurity(labels: Readonly<Record<string, string>>): string[] {
  return Object.entries(podSecurityLabels('restricted'))
    .filter(([name, value]) => labels[name] !== value)
    .map(([name, value]) => `${name}=${value}`);
}
