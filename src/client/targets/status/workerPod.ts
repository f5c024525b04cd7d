/** Tries whether pods of batches would run: whether the cluster accepts one, and whether it reaches the server. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { StudioError } from '../../../common/errors.ts';
import { sentence } from '../../../common/text.ts';
import { batchJob } from '../../../executor/kubernetes/jobManifest.ts';
import { withDefaults } from '../../../executor/kubernetes/podResources.ts';
import type { Cluster } from '../../../kubernetes/access/cluster.ts';
import type { KubeObject, Pod } from '../../../kubernetes/access/objects.ts';
import { workerUrls } from '../../../kubernetes/install/manifests/server.ts';
import type { InstallOptions } from '../../../kubernetes/install/options.ts';
import { AUTHORITY_KEYS, labels, NAMES, PROBE_LABEL, selector } from '../../../kubernetes/names.ts';
import { PROBE_SCRIPT } from '../../../kubernetes/programs/probeScript.ts';
import { SECRET_MODE } from '../../../kubernetes/security/podSecurity.ts';
import { obstacleOf } from '../serverPod.ts';
import { type TargetFinding, trouble } from './finding.ts';

const LIMIT_MS = 45_000;
const POLL_MS = 300;
const REMOVAL_MS = 10_000;
/** How long a pod tries to reach the server. */
const TRY_SECONDS = 15;
/** Pods of a status that was killed are removed by a later one. */
const LEFT_MS = 120_000;
const NO_BATCH = 'b0';
const CA = '/rollout/ca';

const template = z.looseObject({
  template: z.looseObject({
    spec: z.looseObject({ containers: z.array(z.record(z.string(), z.unknown())).min(1) }),
  }),
});

interface Tried {
  readonly options: InstallOptions;
  /** Whether to start a pod. */
  readonly probe: boolean;
  /** Whether the server runs. */
  readonly isUp: boolean;
}

/** Returns the findings `limits` and `network`. Leaves nothing in the cluster. */
export async function workerPodFindings(
  cluster: Cluster,
  { options, probe, isUp }: Tried,
  signal: AbortSignal | undefined,
): Promise<TargetFinding[]> {
  const limits = await limitsFinding(cluster, options, signal);
  const skipped = (why: string): TargetFinding => ({ name: 'network', state: 'unknown', text: `not tried: ${why}` });
  if (!probe) return [limits, skipped('no pod was to be started')];
  if (!isUp) return [limits, skipped('the server does not run')];
  if (limits.state === 'unknown') return [limits, skipped('no permission to create pods')];
  if (limits.state !== 'ok') return [limits, skipped('the cluster does not accept a pod')];
  try {
    return [limits, await networkFinding(cluster, options, signal)];
  } catch (error) {
    signal?.throwIfAborted();
    return [limits, trouble('network', error)];
  }
}

/** Asks the API server whether it would accept a pod of a batch with the defaults. */
async function limitsFinding(
  cluster: Cluster,
  options: InstallOptions,
  signal: AbortSignal | undefined,
): Promise<TargetFinding> {
  const { spec } = workerTemplate(cluster, options);
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: newName(), labels: labels('worker') }, spec };
  try {
    await cluster.create(pod, { dryRun: true, signal });
    return { name: 'limits', state: 'ok', text: 'the cluster accepts a worker pod' };
  } catch (error) {
    signal?.throwIfAborted();
    if (StudioError.is(error, 'forbidden') && error.details?.['isRight'] === true)
      return { name: 'limits', state: 'unknown', text: 'no permission to create pods, so not tried' };
    if (!StudioError.is(error)) return trouble('limits', error);
    return {
      name: 'limits',
      state: 'wrong',
      text: `the cluster refuses a worker pod: ${error.message}`,
      hint:
        error.hint ??
        'Set `pods.requests` and `pods.limits` in the batch file to what the namespace allows, or have that changed.',
    };
  }
}

/** Starts a pod where a worker would run, which connects to the server as a worker would. */
async function networkFinding(
  cluster: Cluster,
  options: InstallOptions,
  signal: AbortSignal | undefined,
): Promise<TargetFinding> {
  const urls = workerUrls(options, cluster.namespace);
  const name = newName();
  await removeLeft(cluster, signal);
  try {
    await cluster.create(probePod(cluster, options, name, urls), { signal });
    const until = performance.now() + LIMIT_MS;
    for (;;) {
      const pod = await cluster.get('Pod', name, { signal });
      const finding = pod === undefined ? gone(name) : probeFinding(pod, urls, performance.now() > until);
      if (finding !== undefined) return finding;
      await delay(POLL_MS, undefined, { signal });
    }
  } finally {
    // Also after an interrupt.
    await cluster
      .remove('Pod', name, { graceSeconds: 0, signal: AbortSignal.timeout(REMOVAL_MS) })
      .catch(() => undefined); // it ends by itself, and a later status removes it
  }
}

function gone(name: string): TargetFinding {
  return { name: 'network', state: 'unknown', text: `the pod ${name} that tried the way to the server was deleted` };
}

/** Returns the result of a probe; undefined while it has none. */
export function probeFinding(pod: Pod, urls: string, isLate: boolean): TargetFinding | undefined {
  const { phase, containerStatuses = [] } = pod.status ?? {};
  if (phase === 'Succeeded') {
    const secure = urls.startsWith('https:') ? 'with TLS, ' : '';
    return { name: 'network', state: 'ok', text: `a pod reaches the server (${secure}${urls})` };
  }
  const [container] = containerStatuses;
  if (phase === 'Failed') {
    const said = container?.state?.terminated?.message?.trim() || pod.status?.message || 'no reason given';
    return {
      name: 'network',
      state: 'wrong',
      text: `a pod cannot reach the server at ${urls}: ${sentence(said)}`,
      hint:
        'Check its Service and network policies, and --advertise if workers use another address. Repair the objects ' +
        'of the installation with rollout cluster upgrade.',
    };
  }
  const obstacle = obstacleOf(pod);
  const reason = container?.state?.waiting?.reason ?? '';
  if (obstacle === undefined ? !isLate : !isLate && !FINAL.has(reason)) return undefined;
  return {
    name: 'network',
    state: 'wrong',
    text: `a pod does not start: ${obstacle ?? `it is ${phase ?? 'not scheduled'} after ${LIMIT_MS / 1000} s`}`,
    hint: IMAGE.has(reason)
      ? 'Name an image that the nodes can pull with rollout cluster upgrade --image IMAGE.'
      : 'Check the nodes with kubectl get nodes.',
  };
}

const IMAGE: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
]);
/** Reasons that do not go away by themselves. */
const FINAL: ReadonlySet<string> = new Set(['ImagePullBackOff', 'ErrImageNeverPull', 'InvalidImageName']);

/** Removes pods of earlier probes whose program was killed. */
async function removeLeft(cluster: Cluster, signal: AbortSignal | undefined): Promise<void> {
  for (const { metadata } of await cluster.list('Pod', { labels: selector({ [PROBE_LABEL]: 'true' }), signal }))
    if (Date.now() - Date.parse(metadata.creationTimestamp ?? '') > LEFT_MS)
      await cluster.remove('Pod', metadata.name, { graceSeconds: 0, signal });
}

function workerTemplate(cluster: Cluster, { image, pullPolicy, programs, pods: installed }: InstallOptions) {
  const pods = withDefaults({}, installed?.workers);
  const job = batchJob({
    ...{ batch: NO_BATCH, round: 1, namespace: cluster.namespace, pods, image, pullPolicy, programs },
    ...{ sizing: { completions: 1, parallelism: 1, slots: 1 }, settled: 0, fruitless: 0 },
  });
  return template.parse(job['spec']).template;
}

function probePod(cluster: Cluster, options: InstallOptions, name: string, urls: string): KubeObject {
  const { spec } = workerTemplate(cluster, options);
  const [worker] = spec.containers;
  const { containers: _, initContainers: __, volumes: ___, ...place } = spec;
  const pick = (field: string) => (worker?.[field] === undefined ? {} : { [field]: worker[field] });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    // As a worker's, so that the same network policies hold.
    metadata: { name, labels: { ...labels('worker'), [PROBE_LABEL]: 'true' } },
    spec: {
      ...place,
      activeDeadlineSeconds: Math.round((2 * LIMIT_MS) / 1000),
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'probe',
          ...pick('image'),
          ...pick('imagePullPolicy'),
          ...pick('securityContext'),
          ...pick('resources'),
          command: ['node', '--eval', PROBE_SCRIPT, CA, String(TRY_SECONDS), urls],
          terminationMessagePolicy: 'FallbackToLogsOnError',
          volumeMounts: [{ name: 'ca', mountPath: CA, readOnly: true }],
        },
      ],
      volumes: [
        {
          name: 'ca',
          secret: {
            secretName: options.authoritySecret ?? NAMES.authority,
            optional: true,
            defaultMode: SECRET_MODE,
            // The certificates only. Which one it has depends on who made it.
            items: AUTHORITY_KEYS.map(({ cert }) => ({ key: cert, path: cert })),
          },
        },
      ],
    },
  };
}

function newName(): string {
  return `rollout-probe-${randomBytes(4).toString('hex')}`;
}
