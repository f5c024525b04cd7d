/** What accounts may do in a cluster, and what those of an installation need. */

import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { Cluster } from './cluster.ts';
import { type KubeObject, modelOf } from './objects.ts';

/** A right that a role gives. `namespace` undefined: in the whole cluster. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  /** Plural, with its subresource: `pods/log`. */
  readonly resource: string;
  readonly name: string | undefined;
  readonly namespace: string | undefined;
}

const role = z.looseObject({
  rules: z.array(
    z.looseObject({
      apiGroups: z.array(z.string()).default([]),
      resources: z.array(z.string()).default([]),
      resourceNames: z.array(z.string()).optional(),
      verbs: z.array(z.string()),
    }),
  ),
});
const binding = z.looseObject({
  roleRef: z.looseObject({ kind: z.string(), name: z.string() }),
  subjects: z.array(z.looseObject({ kind: z.string(), name: z.string() })).default([]),
});

/** Returns the rights that roles and bindings among `objects` give to an account. */
export function rightsOf(objects: readonly KubeObject[], account: string): Right[] {
  return objects
    .filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding')
    .flatMap((bound) => {
      const { roleRef, subjects } = binding.parse(bound);
      if (!subjects.some(({ kind, name }) => kind === 'ServiceAccount' && name === account)) return [];
      const found = objects.find(({ kind, metadata }) => kind === roleRef.kind && metadata.name === roleRef.name);
      const { namespace } = bound.metadata;
      return (found === undefined ? [] : role.parse(found).rules).flatMap((rule) =>
        rule.apiGroups.flatMap((group) =>
          rule.resources.flatMap((resource) =>
            rule.verbs.flatMap((verb) =>
              (rule.resourceNames ?? [undefined]).map((name) => ({ verb, group, resource, name, namespace })),
            ),
          ),
        ),
      );
    });
}

/** Returns rights in short: `create, delete jobs; list pods`. */
export function rightsText(rights: readonly Right[]): string {
  const byResource = Map.groupBy(rights, ({ resource }) => resource);
  return [...byResource]
    .map(([resource, some]) => `${[...new Set(some.map(({ verb }) => verb))].join(', ')} ${resource}`)
    .join('; ');
}

/**
 * Returns the rights that an account lacks. `user`: another account, whose rights only some may ask for; `forbidden` is
 * thrown otherwise.
 */
export async function lackingRights(
  cluster: Cluster,
  needed: readonly Right[],
  { user, signal }: { readonly user?: string; readonly signal?: AbortSignal | undefined } = {},
): Promise<Right[]> {
  const allowed = await Promise.all(needed.map((right) => isAllowed(cluster, right, user, signal)));
  return needed.filter((_, index) => allowed[index] !== true);
}

async function isAllowed(
  cluster: Cluster,
  { verb, group, resource: named, name, namespace }: Right,
  user: string | undefined,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const [resource = '', subresource] = named.split('/');
  const resourceAttributes = {
    ...{ verb, group, resource },
    ...(subresource === undefined ? {} : { subresource }),
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
  };
  const { AuthorizationV1Api, ApiException } = cluster.connection.library;
  const api = new AuthorizationV1Api(cluster.connection.configuration({ signal }));
  const header = { apiVersion: 'authorization.k8s.io/v1' };
  try {
    const { status } =
      user === undefined
        ? await api.createSelfSubjectAccessReview({
            body: modelOf({ ...header, kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } }),
          })
        : await api.createSubjectAccessReview({
            body: modelOf({ ...header, kind: 'SubjectAccessReview', spec: { user, resourceAttributes } }),
          });
    return status?.allowed === true;
  } catch (error) {
    if (!(error instanceof ApiException)) throw error;
    if (error.code === 403) throw new StudioError('forbidden', 'Your account may not ask what other accounts may do.');
    const code = error.code === 401 ? 'unauthorized' : 'unavailable';
    throw new StudioError(code, `The API server returned ${error.code} when asked for rights.`, {
      cause: error,
    });
  }
}
