/**
 * Builds what lets the server ask the cluster who its callers are and what they may do, as aggregated API servers do:
 * reviews of tokens and of access, and the authority of client certificates. Both belong to the cluster.
 */
import type { KubeObject } from '../../access/objects.ts';
import { CLIENT_AUTHORITY, identityBinding } from '../../names.ts';
import { object } from './object.ts';

/** Roles that every cluster has, for this purpose. */
const REVIEWS = 'system:auth-delegator';
const READ_AUTHORITY = `${CLIENT_AUTHORITY.name}-reader`;

/** `account`: that of the server. */
export function identityBindings(namespace: string, account: string): KubeObject[] {
  const name = identityBinding(namespace);
  const apiGroup = 'rbac.authorization.k8s.io';
  const subjects = [{ kind: 'ServiceAccount', name: account, namespace }];
  return [
    object(
      'ClusterRoleBinding',
      name,
      { namespace, component: 'server' },
      {
        roleRef: { apiGroup, kind: 'ClusterRole', name: REVIEWS },
        subjects,
      },
    ),
    object(
      'RoleBinding',
      name,
      { namespace: CLIENT_AUTHORITY.namespace, component: 'server' },
      {
        roleRef: { apiGroup, kind: 'Role', name: READ_AUTHORITY },
        subjects,
      },
    ),
  ];
}
