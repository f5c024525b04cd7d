/**
 * The parts of `@kubernetes/client-node` that are used. Loaded only with the first cluster, because it is most of what
 * a cluster costs to load.
 */

import type { Configuration, V1APIResourceList } from '@kubernetes/client-node';
import { KubernetesObjectApi } from '@kubernetes/client-node/dist/object.js';
import { ObjectSerializer } from '@kubernetes/client-node/dist/serializer.js';
import { KINDS } from './kinds.ts';
import type { Json } from './objects.ts';

export { KubeConfig } from '@kubernetes/client-node/dist/config.js';
export {
  ApiException,
  AuthenticationV1Api,
  AuthorizationV1Api,
  CoreV1Api,
  createConfiguration,
  ResponseContext,
  ServerConfiguration,
  VersionApi,
  wrapHttpLibrary,
} from '@kubernetes/client-node/dist/gen/index.js';

const identity = (data: unknown): unknown => data;
/** The resources of each API group, which the library would otherwise request before the group's first object. */
const resources: Record<string, Json<V1APIResourceList>> = {};

for (const [kind, { apiVersion, plural, namespaced }] of Object.entries(KINDS)) {
  const list = (resources[apiVersion] ??= { groupVersion: apiVersion, resources: [] });
  list.resources.push({ kind, name: plural, namespaced, singularName: '', verbs: [] });
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  // Objects stay JSON in both directions: see objects.ts.
  for (const name of [kind, `${kind}List`])
    ObjectSerializer.registerModel({ group, version, kind: name }, { serialize: identity, deserialize: identity });
}

/** The library's API for objects of any kind, for the kinds of kinds.ts. */
export class ObjectApi extends KubernetesObjectApi {
  constructor(configuration: Configuration) {
    super(configuration);
    this.apiVersionResourceCache = resources;
  }
}
