/** Builds a model that vLLM serves next to the server: one pod per replica, each found by the headless Service. */

import type { Placement } from '../../../config/schema/placement.ts';
import type { KubeObject } from '../../access/objects.ts';
import { parseQuantity } from '../../quantity.ts';
import { CONTAINER_SECURITY, POD_SECURITY } from '../../security/podSecurity.ts';
import { object, type Place } from '../manifests/object.ts';
import { disruptionBudget, folderOwner, placed, pullSecrets, secretEnv } from '../manifests/pods.ts';
import { scrapeAnnotations } from '../manifests/scraped.ts';
import { claimOf, dataVolume } from '../manifests/volumes.ts';
import type { InstallOptions } from '../options.ts';
import { bundleMounts, bundleVolumes, pythonOutboundEnv } from '../outside/outbound.ts';
import { parseStorage } from '../storage.ts';
import { autoscaling } from './autoscaling.ts';
import { drainHook, VLLM_GRACE_SECONDS } from './drain.ts';
import { modelArguments } from './modelArguments.ts';
import { cacheName, componentOf, type InstalledModel, modelLabels, objectName, VLLM_PORT } from './models.ts';
import { productsOf, type VllmOptions } from './options.ts';
import { s3Arguments, s3Env } from './s3.ts';

const CACHE = '/cache';
/** HOME, and the folder of temporary files. */
const WORK = '/work';
const WORK_LIMIT = '16Gi';
/** Loading large weights for the first time takes as long as downloading them. */
const START_SECONDS = 3600;

/** `installed`: whose image prepares the folder of a node. */
export function vllm({ name, options }: InstalledModel, installed: InstallOptions, namespace: string): KubeObject[] {
  const place: Place = { namespace, component: componentOf(name) };
  const selected = modelLabels(name);
  const called = objectName(name);
  const pods = podsOf(installed.pods?.vllm, options.pods);
  const cache = parseStorage(options.cache);
  return [
    ...claimOf(
      cacheName(name),
      cache,
      options.cacheSize,
      place,
      Math.max(options.replicas, options.maxReplicas ?? 1) > 1 ? 'ReadWriteMany' : 'ReadWriteOnce',
    ),
    object('Deployment', called, place, {
      spec: {
        // Whatever scales it decides; an apply must not.
        ...(options.autoscale === undefined ? { replicas: options.replicas } : {}),
        revisionHistoryLimit: 2,
        // In place, the GPUs of the old pod are free only after it has ended; the others answer in the meantime.
        strategy: {
          type: 'RollingUpdate',
          rollingUpdate:
            options.upgrade === 'surge' ? { maxUnavailable: 0, maxSurge: 1 } : { maxUnavailable: 1, maxSurge: 0 },
        },
        // A replica that loads is no failure.
        progressDeadlineSeconds: START_SECONDS + VLLM_GRACE_SECONDS,
        selector: { matchLabels: selected },
        template: {
          metadata: {
            labels: { ...pods.labels, ...selected },
            ...annotated(options, pods),
          },
          spec: podSpec({ name, options }, installed, pods),
        },
      },
    }),
    disruptionBudget(called, place, selected),
    ...autoscaling({ name, options }, namespace),
    object('Service', called, place, {
      spec: {
        clusterIP: 'None',
        selector: selected,
        ports: [{ name: 'http', port: VLLM_PORT, targetPort: 'http', protocol: 'TCP' }],
      },
    }),
  ];
}

/** Returns the settings of the pods of a model: its own keys replace those of all models, amounts name by name. */
function podsOf(all: Placement = {}, own: Placement = {}): Placement {
  return {
    ...all,
    ...own,
    requests: { ...all.requests, ...own.requests },
    limits: { ...all.limits, ...own.limits },
  };
}

/** By requests that wait, Prometheus has to read each replica. */
function annotated({ autoscale }: VllmOptions, { annotations }: Placement): Readonly<Record<string, unknown>> {
  const scraped = autoscale === undefined ? {} : scrapeAnnotations(VLLM_PORT);
  const all = { ...scraped, ...annotations };
  return Object.keys(all).length === 0 ? {} : { annotations: all };
}

function podSpec(
  { name, options }: InstalledModel,
  installed: InstallOptions,
  pods: Placement,
): Readonly<Record<string, unknown>> {
  const { image, pullPolicy, pullSecret } = installed;
  const cache = parseStorage(options.cache);
  return {
    ...(pods.service_account === undefined ? {} : { serviceAccountName: pods.service_account }),
    ...pullSecrets(pullSecret, ...(pods.image_pull_secrets ?? [])),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: VLLM_GRACE_SECONDS,
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'nvidia.com/gpu.product', operator: 'In', values: productsOf(options) }] },
          ],
        },
      },
    },
    ...placed(modelLabels(name), pods, [{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' }]),
    securityContext: POD_SECURITY,
    ...(cache.kind === 'hostPath' ? { initContainers: [folderOwner(image, pullPolicy, 'cache', CACHE)] } : {}),
    containers: [container(options, installed, pods)],
    volumes: [
      // The processes of one replica communicate through shared memory.
      { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: sharedMemory(options) } },
      dataVolume('cache', cache, cacheName(name), options.cacheSize),
      { name: 'work', emptyDir: { sizeLimit: WORK_LIMIT } },
      ...bundleVolumes(installed),
    ],
  };
}

/** Memory that the processes of a replica share: they exchange tensors. It counts as memory of the pod. */
function sharedMemory({ gpus, sharedMemory: own }: VllmOptions): string {
  return own ?? `${2 * gpus}Gi`;
}

/** Weights pass through memory on their way to the GPUs, and each GPU has a process of its own. */
function memory(options: VllmOptions): string {
  const mib = 16 * 1024 * options.gpus + Math.ceil((parseQuantity(sharedMemory(options)) ?? 0) / 2 ** 20);
  return mib % 1024 === 0 ? `${mib / 1024}Gi` : `${mib}Mi`;
}

function container(
  options: VllmOptions,
  installed: InstallOptions,
  pods: Placement,
): Readonly<Record<string, unknown>> {
  const probe = { httpGet: { path: '/health', port: 'http' }, timeoutSeconds: 5, periodSeconds: 10 };
  const gpus = { 'nvidia.com/gpu': String(options.gpus) };
  return {
    name: 'vllm',
    image: options.image,
    command: ['vllm', 'serve', options.model],
    args: [
      '--host',
      '0.0.0.0',
      '--port',
      String(VLLM_PORT),
      '--tensor-parallel-size',
      String(options.gpus),
      ...modelArguments(options),
      ...s3Arguments(options),
      // Metrics that rollouts show of each call, and a “busy” response instead of an endless queue.
      '--enable-per-request-metrics',
      '--enable-prompt-tokens-details',
      '--max-num-queued-reqs',
      String(options.queue),
      ...options.arguments,
    ],
    env: [
      { name: 'HF_HOME', value: CACHE },
      // vLLM and PyTorch keep compiled kernels there, and ask for the name of the user, which the image does not have.
      { name: 'HOME', value: WORK },
      { name: 'TMPDIR', value: WORK },
      { name: 'USER', value: 'vllm' },
      ...(options.tokenSecret === undefined ? [] : [secretEnv('HF_TOKEN', options.tokenSecret, 'token')]),
      ...(options.apiKeySecret === undefined ? [] : [secretEnv('VLLM_API_KEY', options.apiKeySecret, 'api-key')]),
      ...s3Env(options),
      ...pythonOutboundEnv(installed),
    ],
    ports: [{ name: 'http', containerPort: VLLM_PORT, protocol: 'TCP' }],
    resources: {
      requests: {
        cpu: String(4 * options.gpus),
        memory: memory(options),
        ...pods.requests,
        ...gpus,
      },
      limits: { ...pods.limits, ...gpus },
    },
    lifecycle: drainHook(VLLM_PORT),
    securityContext: CONTAINER_SECURITY,
    startupProbe: { ...probe, failureThreshold: START_SECONDS / probe.periodSeconds },
    livenessProbe: { ...probe, failureThreshold: 6 },
    readinessProbe: { ...probe, periodSeconds: 5, failureThreshold: 2 },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'shm', mountPath: '/dev/shm' },
      { name: 'cache', mountPath: CACHE },
      { name: 'work', mountPath: WORK },
      { name: 'work', mountPath: '/tmp' },
      ...bundleMounts(installed),
    ],
  };
}
