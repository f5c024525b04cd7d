/** Builds the server's account and its rights: only in its own namespace, and only what running batches needs. */

import type { KubeObject } from '../../access/objects.ts';
import { NAMES } from '../../names.ts';
import type { InstallOptions } from '../options.ts';
import { object, type Place } from './object.ts';

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'patch', 'delete'];

/** The rules of the server's Role. */
export const RULES = [
  { apiGroups: ['batch'], resources: ['jobs'], verbs: [...READ, ...WRITE] },
  // Frozen pods are deleted.
  { apiGroups: [''], resources: ['pods'], verbs: [...READ, 'delete'] },
  // People read them through the server, with the values of the batch hidden.
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
  { apiGroups: [''], resources: ['events'], verbs: READ },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', ...WRITE] },
  // A list would have the values of all Secrets of the namespace.
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', ...WRITE] },
  // The server sees whether its own exists.
  { apiGroups: [''], resources: ['services'], verbs: ['get'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
  // What a batch names on the network is allowed to its pods only.
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['get', ...WRITE] },
] as const;

/** Returns the accounts of the server and of the workers, which have no rights, and the server's Role and binding. */
export function rights(options: InstallOptions, namespace: string): KubeObject[] {
  const place: Place = { namespace, component: 'server' };
  const { workers } = options.pods ?? {};
  // Pods of batches name no Secrets: their account has those of registries.
  const pull = (more: readonly string[] = []): Readonly<Record<string, unknown>> => {
    const names = [...new Set([...(options.pullSecret === undefined ? [] : [options.pullSecret]), ...more])];
    return names.length === 0 ? {} : { imagePullSecrets: names.map((name) => ({ name })) };
  };
  return [
    object('ServiceAccount', NAMES.server, place, pull()),
    object('ServiceAccount', NAMES.worker, place, {
      ...pull(workers?.image_pull_secrets),
      automountServiceAccountToken: false,
    }),
    object('Role', NAMES.server, place, { rules: RULES }),
    object('RoleBinding', NAMES.server, place, {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: NAMES.server },
      subjects: [{ kind: 'ServiceAccount', name: serverAccount(options), namespace }],
    }),
  ];
}

/** Returns the account that the server runs as. */
export function serverAccount({ pods }: InstallOptions): string {
  return pods?.server?.service_account ?? NAMES.server;
}
