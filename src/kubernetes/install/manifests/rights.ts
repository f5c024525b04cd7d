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
  { apiGroups: [''], resources: ['events'], verbs: READ },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', ...WRITE] },
  // A list would have the values of all Secrets of the namespace.
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', ...WRITE] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
  // What a batch names on the network is allowed to its pods only.
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['get', ...WRITE] },
] as const;

/** Returns the accounts of the server and of the workers, which have no rights, and the server's Role and binding. */
export function rights(options: InstallOptions, namespace: string): KubeObject[] {
  const place: Place = { namespace, component: 'server' };
  const pull = options.pullSecret === undefined ? {} : { imagePullSecrets: [{ name: options.pullSecret }] };
  return [
    object('ServiceAccount', NAMES.server, place, pull),
    object('ServiceAccount', NAMES.worker, place, { ...pull, automountServiceAccountToken: false }),
    object('Role', NAMES.server, place, { rules: RULES }),
    object('RoleBinding', NAMES.server, place, {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: NAMES.server },
      subjects: [{ kind: 'ServiceAccount', name: NAMES.server, namespace }],
    }),
  ];
}
