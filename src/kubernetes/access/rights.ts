/** What accounts may do in a cluster, and what those of an installation need. */

import type { AuthorizationV1Api } from '@kubernetes/client-node';
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

/**
 * Returns the rights in one namespace that the own account lacks. Asks for all at once; only what is not among those,
 * which may be incomplete, is asked for one by one.
 */
export async function lackingOwnRights(
  cluster: Cluster,
  needed: readonly Right[],
  signal: AbortSignal,
): Promise<Right[]> {
  const { namespace } = cluster;
  const rules = await called(cluster, signal, (api) =>
    api.createSelfSubjectRulesReview({
      body: modelOf({ ...HEADER, kind: 'SelfSubjectRulesReview', spec: { namespace } }),
    }),
  );
  const found = ownRules.parse(rules.status ?? {}).resourceRules;
  const has = (of: readonly string[], one: string): boolean => of.includes(one) || of.includes('*');
  const unknown = needed.filter(
    ({ verb, group, resource, name }) =>
      !found.some(
        ({ verbs, apiGroups, resources, resourceNames = [] }) =>
          has(verbs, verb) &&
          has(apiGroups, group) &&
          has(resources, resource) &&
          (resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name))),
      ),
  );
  return await lackingRights(cluster, unknown, { signal });
}

const ownRules = z.looseObject({
  resourceRules: z
    .array(
      z.looseObject({
        verbs: z.array(z.string()),
        apiGroups: z.array(z.string()).default([]),
        resources: z.array(z.string()).default([]),
        resourceNames: z.array(z.string()).optional(),
      }),
    )
    .default([]),
});

const HEADER = { apiVersion: 'authorization.k8s.io/v1' } as const;

/** Calls the API for reviews; its errors become StudioErrors. */
async function called<T>(
  cluster: Cluster,
  signal: AbortSignal | undefined,
  run: (api: AuthorizationV1Api) => Promise<T>,
): Promise<T> {
  const { AuthorizationV1Api: Api, ApiException } = cluster.connection.library;
  try {
    return await run(new Api(cluster.connection.configuration({ signal })));
  } catch (error) {
    if (!(error instanceof ApiException)) throw error;
    if (error.code === 403) throw new StudioError('forbidden', 'Your account may not ask what other accounts may do.');
    const code = error.code === 401 ? 'unauthorized' : 'unavailable';
    throw new StudioError(code, `The API server returned ${error.code} when asked for rights.`, { cause: error });
  }
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
  const { status } = await called(cluster, signal, (api) =>
    user === undefined
      ? api.createSelfSubjectAccessReview({
          body: modelOf({ ...HEADER, kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } }),
        })
      : api.createSubjectAccessReview({
          body: modelOf({ ...HEADER, kind: 'SubjectAccessReview', spec: { user, resourceAttributes } }),
        }),
  );
  return status?.allowed === true;
}
