/** The kinds of objects that Rollout Studio uses, and where the API serves them. */

interface KindInfo {
  readonly apiVersion: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

const kind = (apiVersion: string, plural: string, namespaced = true): KindInfo => ({ apiVersion, plural, namespaced });

export const KINDS = {
  ConfigMap: kind('v1', 'configmaps'),
  Event: kind('v1', 'events'),
  LimitRange: kind('v1', 'limitranges'),
  Namespace: kind('v1', 'namespaces', false),
  Node: kind('v1', 'nodes', false),
  PersistentVolume: kind('v1', 'persistentvolumes', false),
  PersistentVolumeClaim: kind('v1', 'persistentvolumeclaims'),
  Pod: kind('v1', 'pods'),
  ResourceQuota: kind('v1', 'resourcequotas'),
  Secret: kind('v1', 'secrets'),
  Service: kind('v1', 'services'),
  ServiceAccount: kind('v1', 'serviceaccounts'),
  Deployment: kind('apps/v1', 'deployments'),
  ReplicaSet: kind('apps/v1', 'replicasets'),
  Job: kind('batch/v1', 'jobs'),
  EndpointSlice: kind('discovery.k8s.io/v1', 'endpointslices'),
  Ingress: kind('networking.k8s.io/v1', 'ingresses'),
  NetworkPolicy: kind('networking.k8s.io/v1', 'networkpolicies'),
  PodDisruptionBudget: kind('policy/v1', 'poddisruptionbudgets'),
  PriorityClass: kind('scheduling.k8s.io/v1', 'priorityclasses', false),
  StorageClass: kind('storage.k8s.io/v1', 'storageclasses', false),
  Role: kind('rbac.authorization.k8s.io/v1', 'roles'),
  RoleBinding: kind('rbac.authorization.k8s.io/v1', 'rolebindings'),
  ClusterRoleBinding: kind('rbac.authorization.k8s.io/v1', 'clusterrolebindings', false),
  ValidatingAdmissionPolicy: kind('admissionregistration.k8s.io/v1', 'validatingadmissionpolicies', false),
  HorizontalPodAutoscaler: kind('autoscaling/v2', 'horizontalpodautoscalers'),
  ScaledObject: kind('keda.sh/v1alpha1', 'scaledobjects'),
  Gateway: kind('gateway.networking.k8s.io/v1', 'gateways'),
  HTTPRoute: kind('gateway.networking.k8s.io/v1', 'httproutes'),
  BackendTLSPolicy: kind('gateway.networking.k8s.io/v1', 'backendtlspolicies'),
  ValidatingAdmissionPolicyBinding: kind('admissionregistration.k8s.io/v1', 'validatingadmissionpolicybindings', false),
} as const satisfies Record<string, KindInfo>;

export type Kind = keyof typeof KINDS;

/** Returns whether `name` is a kind in the table. */
export function isKind(name: string): name is Kind {
  return Object.hasOwn(KINDS, name);
}

/** Returns the API group of a kind; empty for the core group. */
export function groupOf(kind: Kind): string {
  const { apiVersion } = KINDS[kind];
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

/** Returns the API group of a resource by its plural, e.g. `jobs`; empty if the table does not have it. */
export function groupOfResource(plural: string): string {
  const kind = Object.keys(KINDS).find((name) => isKind(name) && KINDS[name].plural === plural);
  return kind !== undefined && isKind(kind) ? groupOf(kind) : '';
}

/** Returns the path of a kind's collection; `namespace` undefined: of every namespace. */
export function collectionPath(kind: Kind, namespace: string | undefined): string {
  const { apiVersion, plural, namespaced } = KINDS[kind];
  const within = namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}${within}/${plural}`;
}
