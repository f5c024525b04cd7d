/**
 * Builds the cluster objects of a batch: an Indexed Job, and a ConfigMap and a Secret for its pods. Pure.
 */
import { DEFAULTS } from '../../config/defaults.ts';
import type { SubmittedPods } from '../../config/submission.ts';
import type { KubeObject, OwnerReference } from '../../kubernetes/access/objects.ts';
import { batchLabels, batchName, type ProgramSource } from '../../kubernetes/names.ts';
import {
  AUTHORITY_FILE,
  BUNDLE_FILE,
  HANDED_OVER_EXIT,
  type PodWorker,
  SECRETS_FILE,
  WORKER_BOOTSTRAP,
  WORKER_FILE,
} from '../../kubernetes/programs/workerBootstrap.ts';
import { BOOTSTRAP_FILE, type PodPlan, podSpec, WORKER } from './podManifest.ts';
import { environmentKey } from './sidecarSecrets.ts';
import type { PodSizing } from './sizing.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Our annotations on Jobs and their pods. */
export const NOTE = {
  /** The batch's ID unchanged; labels allow fewer characters. */
  batch: 'rollout-studio/batch-id',
  /** Concurrent rollouts in each of the Job's pods. */
  slots: 'rollout-studio/slots',
  /** Settled attempts when the Job was created. */
  settled: 'rollout-studio/settled',
  /** Number of consecutive Jobs before this one that settled no attempt. */
  fruitless: 'rollout-studio/fruitless',
  /** Its pods know the server by its authority. */
  tls: 'rollout-studio/tls',
  /** Its pods prove which one they are, and get a single rollout each. */
  single: 'rollout-studio/single',
  /** Suspended by us, because its batch is paused without pods. */
  released: 'rollout-studio/released',
} as const;

/** Lets autoscalers empty a node although pods have volumes on it: workers hand their rollouts over. */
const SAFE_TO_EVICT = 'cluster-autoscaler.kubernetes.io/safe-to-evict';

export interface JobPlan extends PodPlan {
  /** Number of this Job in its batch, from 1. */
  readonly round: number;
  readonly namespace: string;
  readonly sizing: PodSizing;
  readonly settled: number;
  readonly fruitless: number;
}

/** A Job has no owner: without the server its pods wait for the next one, and then end by themselves. */
export function batchJob(plan: JobPlan): KubeObject {
  const { batch, round, namespace, pods, sizing } = plan;
  const labels = batchLabels(batch);
  const own = { [NOTE.batch]: batch };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: batchName(batch, round),
      namespace,
      labels: { ...labels, ...(pods.queue === undefined ? {} : { 'kueue.x-k8s.io/queue-name': pods.queue }) },
      annotations: {
        ...own,
        [NOTE.slots]: String(sizing.slots),
        [NOTE.settled]: String(plan.settled),
        [NOTE.fruitless]: String(plan.fruitless),
        ...(plan.tls === true ? { [NOTE.tls]: 'true' } : {}),
        ...(pods.isolation === 'pod' ? { [NOTE.single]: 'true' } : {}),
      },
    },
    spec: {
      completionMode: 'Indexed',
      completions: sizing.completions,
      parallelism: sizing.parallelism,
      backoffLimitPerIndex: pods.backoff ?? DEFAULTS.pods.backoff,
      ttlSecondsAfterFinished: DEFAULTS.pods.keep,
      // The only policy allowed together with failure rules. A pod that is being deleted may still write.
      podReplacementPolicy: 'Failed',
      podFailurePolicy: failurePolicy(pods),
      // Kueue resumes it. Without Kueue in the cluster it stays suspended, which is reported.
      ...(pods.queue === undefined ? {} : { suspend: true }),
      template: {
        metadata: {
          labels: { ...pods.labels, ...labels },
          annotations: { [SAFE_TO_EVICT]: 'true', ...pods.annotations, ...own },
        },
        spec: podSpec(plan),
      },
    },
  };
}

/** The first matching rule decides. Any other failure counts, and the pod is replaced until `backoff`. */
function failurePolicy(pods: SubmittedPods): Fields {
  return {
    rules: [
      // Drained, evicted, or preempted, or its node was lost: not the pod's fault.
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
      // It was told to stop, and other pods continue its rollouts.
      { action: 'Ignore', onExitCodes: { containerName: WORKER, operator: 'In', values: [HANDED_OVER_EXIT] } },
      // A configuration error affects every pod.
      {
        action: pods.isolation === 'pod' ? 'FailIndex' : 'FailJob',
        onExitCodes: { containerName: WORKER, operator: 'In', values: [2] },
      },
    ],
  };
}

export interface PodObjectOptions {
  readonly batch: string;
  readonly namespace: string;
  /** The object with which they are deleted. */
  readonly owner: OwnerReference | undefined;
}

/**
 * Builds the ConfigMap that pods of the batch start with. `programs` `image`: without code; it then only says that the
 * batch has objects.
 */
export function batchConfigMap(options: PodObjectOptions, programs: ProgramSource = 'configmaps'): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: belongingMetadata(options),
    ...(programs === 'image' ? {} : { data: { [BOOTSTRAP_FILE]: WORKER_BOOTSTRAP } }),
  };
}

/**
 * Builds the Secret of the batch. `variables`: names of the variables that sidecars get; `authority`: the certificate
 * by which workers know the server; `caBundle`: further authorities.
 */
export function batchSecret(
  options: PodObjectOptions,
  worker: PodWorker,
  secrets: Readonly<Record<string, string>>,
  variables: readonly string[],
  { authority, caBundle }: { readonly authority?: string | undefined; readonly caBundle?: string | undefined } = {},
): KubeObject {
  const texts: [string, string][] = [
    [WORKER_FILE, JSON.stringify(worker)],
    [SECRETS_FILE, JSON.stringify(secrets)],
    // Node.js reads one file besides its own authorities.
    ...(authority === undefined && caBundle === undefined
      ? []
      : [
          [AUTHORITY_FILE, [authority, caBundle].filter((each) => each !== undefined).join('\n')] satisfies [
            string,
            string,
          ],
        ]),
    ...(caBundle === undefined ? [] : [[BUNDLE_FILE, caBundle] satisfies [string, string]]),
  ];
  for (const name of variables) texts.push([environmentKey(name), secrets[name] ?? '']);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: belongingMetadata(options),
    data: Object.fromEntries(texts.map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}

/** Returns the metadata of an object that ends with the batch's Job. */
export function belongingMetadata(
  { batch, namespace, owner }: PodObjectOptions,
  name = batchName(batch),
): KubeObject['metadata'] {
  return {
    name,
    namespace,
    labels: batchLabels(batch),
    annotations: { [NOTE.batch]: batch },
    ...(owner === undefined ? {} : { ownerReferences: [owner] }),
  };
}
