/**
 * Objects of the API as JSON, typed by the library's models. The library's own conversion into its models is not used:
 * with @kubernetes/client-node 2.0.1 `CoreV1Api.createNamespacedPod` and `KubernetesObjectApi.patch` silently dropped
 * every field that the models do not have (a pod with `spec.tolerationz` and a container with `resource` was sent
 * without either), so the API server could not refuse a typo in a sidecar, nor accept a field newer than the library.
 */
import type {
  CoreV1Event,
  V1ClusterRoleBinding,
  V1ConfigMap,
  V1Deployment,
  V1EndpointSlice,
  V1Ingress,
  V1Job,
  V1LimitRange,
  V1Namespace,
  V1NetworkPolicy,
  V1Node,
  V1ObjectMeta,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodDisruptionBudget,
  V1PriorityClass,
  V1ReplicaSet,
  V1ResourceQuota,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1Status,
  V1StorageClass,
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
  V2HorizontalPodAutoscaler,
} from '@kubernetes/client-node';
import { StudioError } from '../../common/errors.ts';
import { isKind, KINDS, type Kind } from './kinds.ts';

/** An object of a custom resource. Whoever reads its fields parses them. */
interface CustomObject {
  metadata?: V1ObjectMeta;
  spec?: unknown;
  status?: unknown;
}

/** The library's model of each kind. */
interface Models {
  ConfigMap: V1ConfigMap;
  Event: CoreV1Event;
  LimitRange: V1LimitRange;
  Namespace: V1Namespace;
  Node: V1Node;
  PersistentVolume: V1PersistentVolume;
  PersistentVolumeClaim: V1PersistentVolumeClaim;
  Pod: V1Pod;
  ResourceQuota: V1ResourceQuota;
  Secret: V1Secret;
  Service: V1Service;
  ServiceAccount: V1ServiceAccount;
  Deployment: V1Deployment;
  ReplicaSet: V1ReplicaSet;
  Job: V1Job;
  /** The API sends null for both fields if a Service has no pods. */
  EndpointSlice: Omit<V1EndpointSlice, 'endpoints' | 'ports'> & {
    endpoints?: V1EndpointSlice['endpoints'] | null | undefined;
    ports?: V1EndpointSlice['ports'] | null | undefined;
  };
  Ingress: V1Ingress;
  NetworkPolicy: V1NetworkPolicy;
  /** The library has no models of the Gateway API. */
  Gateway: CustomObject;
  HTTPRoute: CustomObject;
  BackendTLSPolicy: CustomObject;
  HorizontalPodAutoscaler: V2HorizontalPodAutoscaler;
  /** Of KEDA. */
  ScaledObject: CustomObject;
  PodDisruptionBudget: V1PodDisruptionBudget;
  PriorityClass: V1PriorityClass;
  StorageClass: V1StorageClass;
  Role: V1Role;
  RoleBinding: V1RoleBinding;
  ClusterRoleBinding: V1ClusterRoleBinding;
  ValidatingAdmissionPolicy: V1ValidatingAdmissionPolicy;
  ValidatingAdmissionPolicyBinding: V1ValidatingAdmissionPolicyBinding;
}

/** A model in JSON: dates are text, and the API omits empty fields. */
export type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Json<Item>[]
    : T extends object
      ? { [Key in keyof T]: Json<T[Key]> }
      : T;

type Metadata = Json<V1ObjectMeta> & { name: string };

/** An object of any kind, sent or received: `{ apiVersion, kind, metadata: { name }, … }`. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  [field: string]: unknown;
}

/** An object of kind `K` as the API returns it. */
export type ObjectOf<K extends Kind> = Omit<Json<Models[K]>, 'apiVersion' | 'kind' | 'metadata'> &
  Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>;

export type Deployment = ObjectOf<'Deployment'>;
export type EndpointSlice = ObjectOf<'EndpointSlice'>;
export type Job = ObjectOf<'Job'>;
export type KubeEvent = ObjectOf<'Event'>;
export type Node = ObjectOf<'Node'>;
export type Pod = ObjectOf<'Pod'>;
export type ResourceQuota = ObjectOf<'ResourceQuota'>;
export type Status = Json<V1Status>;

export type OwnerReference = NonNullable<Metadata['ownerReferences']>[number];
export type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

/** Returns JSON as the library's model. Only the types differ: they have dates where JSON has text. */
export function modelOf<T>(json: Json<T>): T {
  return json as T;
}

/** Returns the kind of an object. Throws StudioError `internal` for kinds that Rollout Studio does not use. */
export function kindOf(object: KubeObject): Kind {
  if (isKind(object.kind) && KINDS[object.kind].apiVersion === object.apiVersion) return object.kind;
  throw new StudioError('internal', `Unknown object kind ${object.kind} (${object.apiVersion}).`);
}

/** Returns a response as an object of `kind`. Adds the kind, which items of lists lack. */
export function readObject<K extends Kind>(kind: K, sent: unknown): ObjectOf<K> {
  if (typeof sent !== 'object' || sent === null || !('metadata' in sent))
    throw new StudioError('unavailable', `The API server did not return an object of kind ${kind}.`, {
      hint: 'Check for a proxy between this machine and the cluster.',
    });
  return { apiVersion: KINDS[kind].apiVersion, kind, ...sent } as unknown as ObjectOf<K>;
}

/** Returns when an event was last seen, in milliseconds since the epoch. */
export function eventTime({ lastTimestamp, eventTime: at, metadata }: KubeEvent): number {
  return Date.parse(lastTimestamp ?? at ?? metadata.creationTimestamp ?? '') || 0;
}
