/**
 * Objects of the API as they are read: any object loosely, and the fields that are looked at of some kinds. Everything
 * else in an object is kept as it came.
 */
import { z } from 'zod';
import type { Kind } from './kinds.ts';

const strings = z.record(z.string(), z.string());

const ownerReference = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
});
export type OwnerReference = z.infer<typeof ownerReference>;

const metadata = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.number().optional(),
  creationTimestamp: z.string().nullish(),
  deletionTimestamp: z.string().optional(),
  labels: strings.optional(),
  annotations: strings.optional(),
  ownerReferences: z.array(ownerReference).optional(),
  finalizers: z.array(z.string()).optional(),
});

const kubeObject = z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata });
/** An object of any kind, also as one writes it: `{ apiVersion, kind, metadata: { name }, … }`. */
export type KubeObject = z.infer<typeof kubeObject>;

const condition = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
  lastTransitionTime: z.string().nullish(),
});
export type Condition = z.infer<typeof condition>;

/** Amounts by name, e.g. `{ cpu: '500m', 'nvidia.com/gpu': '8' }`. */
const amounts = z.record(z.string(), z.union([z.string(), z.number()]));
const resources = z.looseObject({ requests: amounts.optional(), limits: amounts.optional() });

const terminated = z.looseObject({
  exitCode: z.number(),
  signal: z.number().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
  startedAt: z.string().nullish(),
  finishedAt: z.string().nullish(),
});
const containerState = z.looseObject({
  waiting: z.looseObject({ reason: z.string().optional(), message: z.string().optional() }).optional(),
  running: z.looseObject({ startedAt: z.string().nullish() }).optional(),
  terminated: terminated.optional(),
});
const containerStatus = z.looseObject({
  name: z.string(),
  ready: z.boolean().optional(),
  started: z.boolean().nullish(),
  restartCount: z.number().optional(),
  image: z.string().optional(),
  state: containerState.optional(),
  lastState: containerState.optional(),
});
export type ContainerStatus = z.infer<typeof containerStatus>;

const container = z.looseObject({
  name: z.string(),
  image: z.string().optional(),
  ports: z.array(z.looseObject({ name: z.string().optional(), containerPort: z.number() })).optional(),
  resources: resources.optional(),
});

const podSpec = z.looseObject({
  nodeName: z.string().optional(),
  containers: z.array(container).optional(),
  initContainers: z.array(container).optional(),
});

const pod = kubeObject.extend({
  spec: podSpec.optional(),
  status: z
    .looseObject({
      phase: z.string().optional(),
      reason: z.string().optional(),
      message: z.string().optional(),
      podIP: z.string().optional(),
      startTime: z.string().nullish(),
      conditions: z.array(condition).optional(),
      initContainerStatuses: z.array(containerStatus).optional(),
      containerStatuses: z.array(containerStatus).optional(),
    })
    .optional(),
});
export type Pod = z.infer<typeof pod>;

const podTemplate = z.looseObject({
  metadata: z.looseObject({ labels: strings.optional(), annotations: strings.optional() }).optional(),
  spec: podSpec.optional(),
});

const job = kubeObject.extend({
  spec: z
    .looseObject({
      completions: z.number().optional(),
      parallelism: z.number().optional(),
      suspend: z.boolean().optional(),
      template: podTemplate.optional(),
    })
    .optional(),
  status: z
    .looseObject({
      active: z.number().optional(),
      ready: z.number().optional(),
      succeeded: z.number().optional(),
      failed: z.number().optional(),
      terminating: z.number().optional(),
      completedIndexes: z.string().optional(),
      failedIndexes: z.string().optional(),
      startTime: z.string().nullish(),
      completionTime: z.string().nullish(),
      conditions: z.array(condition).optional(),
    })
    .optional(),
});
export type Job = z.infer<typeof job>;

const event = kubeObject.extend({
  reason: z.string().optional(),
  message: z.string().optional(),
  type: z.string().optional(),
  count: z.number().optional(),
  firstTimestamp: z.string().nullish(),
  lastTimestamp: z.string().nullish(),
  eventTime: z.string().nullish(),
  reportingComponent: z.string().optional(),
  involvedObject: z.looseObject({
    kind: z.string().optional(),
    name: z.string().optional(),
    namespace: z.string().optional(),
    uid: z.string().optional(),
    fieldPath: z.string().optional(),
  }),
});
export type KubeEvent = z.infer<typeof event>;

const node = kubeObject.extend({
  spec: z
    .looseObject({
      unschedulable: z.boolean().optional(),
      taints: z.array(z.looseObject({ key: z.string(), value: z.string().optional(), effect: z.string() })).optional(),
    })
    .optional(),
  status: z
    .looseObject({
      capacity: amounts.optional(),
      allocatable: amounts.optional(),
      conditions: z.array(condition).optional(),
    })
    .optional(),
});
export type Node = z.infer<typeof node>;

const quota = kubeObject.extend({
  status: z.looseObject({ hard: amounts.optional(), used: amounts.optional() }).optional(),
});
export type ResourceQuota = z.infer<typeof quota>;

const deployment = kubeObject.extend({
  spec: z.looseObject({ replicas: z.number().optional(), template: podTemplate.optional() }).optional(),
  status: z
    .looseObject({
      observedGeneration: z.number().optional(),
      replicas: z.number().optional(),
      readyReplicas: z.number().optional(),
      updatedReplicas: z.number().optional(),
      availableReplicas: z.number().optional(),
      conditions: z.array(condition).optional(),
    })
    .optional(),
});
export type Deployment = z.infer<typeof deployment>;

const secret = kubeObject.extend({
  type: z.string().optional(),
  data: strings.optional(),
  immutable: z.boolean().optional(),
});
/** `data` is base64. */
export type Secret = z.infer<typeof secret>;

const configMap = kubeObject.extend({
  data: strings.optional(),
  binaryData: strings.optional(),
  immutable: z.boolean().optional(),
});
export type ConfigMap = z.infer<typeof configMap>;

const endpointSlice = kubeObject.extend({
  addressType: z.string().optional(),
  endpoints: z
    .array(
      z.looseObject({
        addresses: z.array(z.string()),
        conditions: z
          .looseObject({
            ready: z.boolean().nullish(),
            serving: z.boolean().nullish(),
            terminating: z.boolean().nullish(),
          })
          .optional(),
        targetRef: z
          .looseObject({ kind: z.string().optional(), name: z.string().optional(), uid: z.string().optional() })
          .optional(),
      }),
    )
    .nullish(),
  ports: z
    .array(z.looseObject({ name: z.string().nullish(), protocol: z.string().nullish(), port: z.number().nullish() }))
    .nullish(),
});
export type EndpointSlice = z.infer<typeof endpointSlice>;

const VIEWS = {
  Pod: pod,
  Job: job,
  Event: event,
  Node: node,
  ResourceQuota: quota,
  Deployment: deployment,
  Secret: secret,
  ConfigMap: configMap,
  EndpointSlice: endpointSlice,
} as const;

/** What an object of kind `K` is read as. */
export type ObjectOf<K extends Kind> = K extends keyof typeof VIEWS ? z.infer<(typeof VIEWS)[K]> : KubeObject;

/** Reads what the API sent as an object of `kind`; items of lists come without their kind. */
export function readObject<K extends Kind>(kind: K, apiVersion: string, sent: unknown): ObjectOf<K> {
  const schema = kind in VIEWS ? VIEWS[kind as keyof typeof VIEWS] : kubeObject;
  const whole = typeof sent === 'object' && sent !== null ? { apiVersion, kind, ...sent } : sent;
  return schema.parse(whole) as ObjectOf<K>;
}

/** A list as the API sends it. */
export const listBody = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string().optional(), continue: z.string().optional() }),
  // An empty list may be null.
  items: z.array(z.unknown()).nullish(),
});

/** What the API says of a failure, and the answer to some removals. */
export const statusBody = z.looseObject({
  kind: z.literal('Status'),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.number().optional(),
  details: z
    .looseObject({
      name: z.string().optional(),
      group: z.string().optional(),
      kind: z.string().optional(),
      retryAfterSeconds: z.number().optional(),
      causes: z
        .array(
          z.looseObject({
            reason: z.string().optional(),
            message: z.string().optional(),
            field: z.string().optional(),
          }),
        )
        .optional(),
    })
    .optional(),
});
export type StatusBody = z.infer<typeof statusBody>;
