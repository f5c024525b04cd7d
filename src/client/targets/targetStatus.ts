/**
 * Checks a target: whether it is reachable, what is running, and which resources are available. Reads everything with
 * the user's kubeconfig. What the user cannot read is reported as such and does not affect the other findings.
 */

import { errorText, StudioError } from '../../common/errors.ts';
import { PRODUCT } from '../../common/product.ts';
import { plural } from '../../common/text.ts';
import { Cluster } from '../../kubernetes/access/cluster.ts';
import type { Node, Pod, ResourceQuota } from '../../kubernetes/access/objects.ts';
import { isReady, isUnresponsive } from '../../kubernetes/access/podReady.ts';
import { LABEL, OURS } from '../../kubernetes/names.ts';
import type { Api } from '../../protocol/api.ts';
import type { ServerInfo } from '../../protocol/client.ts';
import { connectTarget } from './connectTarget.ts';
import { admissionFinding, podSecurityFinding } from './securityFindings.ts';
import { obstacleOf } from './serverPod.ts';
import { clusterRef, type Target, targetPlace } from './target.ts';

/** `unknown`: no permission to read it. */
type FindingState = 'ok' | 'missing' | 'wrong' | 'unknown';

export interface TargetFinding {
  readonly name:
    | 'cluster'
    | 'namespace'
    | 'security'
    | 'policy'
    | 'clock'
    | 'server'
    | 'user'
    | 'queue'
    | 'pods'
    | 'nodes'
    | 'gpus'
    | 'quota';
  readonly state: FindingState;
  readonly text: string;
  readonly hint?: string;
  /** Machine-readable values. */
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface TargetStatus {
  readonly target: string;
  readonly place: string;
  readonly findings: readonly TargetFinding[];
}

interface StatusOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

/** A larger clock skew can invalidate tokens and certificates. */
const MAX_SKEW_SECONDS = 30;
const CONNECT_TIMEOUT_MS = 20_000;
const GPU = 'nvidia.com/gpu';
const MAX_BATCHES = 200;

/** Reports failures as findings. Throws only if it is cancelled. */
export async function targetStatus(name: string, target: Target, options: StatusOptions): Promise<TargetStatus> {
  const place = targetPlace(target);
  if ('url' in target) return { target: name, place, findings: await serverFindings(name, target, options) };
  let cluster: Cluster | undefined;
  try {
    cluster = await Cluster.open(clusterRef(name, target));
    const clusterResults = await clusterFindings(cluster, options.signal);
    const [server, resources] = await Promise.all([
      serverFindings(name, target, options),
      resourceFindings(cluster, options.signal),
    ]);
    return { target: name, place, findings: [...clusterResults, ...server, ...resources] };
  } catch (error) {
    options.signal?.throwIfAborted();
    return { target: name, place, findings: [trouble('cluster', error)] };
  } finally {
    cluster?.close();
  }
}

async function clusterFindings(cluster: Cluster, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  const { git, skewSeconds } = await cluster.version(signal);
  const { context, server, namespace } = cluster;
  const finding: TargetFinding = {
    name: 'cluster',
    state: 'ok',
    text: `Kubernetes ${git} at ${server}, namespace ${namespace}`,
    data: { version: git, server, context, namespace },
  };
  const findings = [finding, ...(await namespaceFindings(cluster, signal))];
  if (skewSeconds === undefined || Math.abs(skewSeconds) <= MAX_SKEW_SECONDS) return findings;
  const text =
    `the clock of the cluster is ${Math.round(Math.abs(skewSeconds))} s ${skewSeconds > 0 ? 'behind' : 'ahead of'} ` +
    'the local clock';
  return [
    ...findings,
    {
      name: 'clock',
      state: 'wrong',
      text,
      hint: 'Synchronize the clocks with NTP. Otherwise, tokens and certificates can be invalid.',
      data: { skew_seconds: skewSeconds },
    },
  ];
}

/** Reports on the namespace, or nothing if the user cannot read namespaces. */
async function namespaceFindings(cluster: Cluster, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  try {
    const namespace = await cluster.get('Namespace', cluster.namespace, { signal });
    if (namespace !== undefined) return [podSecurityFinding(namespace), ...(await admissionFinding(cluster, signal))];
    return [
      {
        name: 'namespace',
        state: 'missing',
        text: `the namespace ${cluster.namespace} does not exist`,
        hint: 'Create it with rollout cluster install --create-namespace.',
      },
    ];
  } catch (error) {
    if (StudioError.is(error, 'forbidden')) return [];
    throw error;
  }
}

/** Connects like every command, but waits less for a server that is starting. */
async function serverFindings(name: string, target: Target, { env, signal }: StatusOptions): Promise<TargetFinding[]> {
  const limit = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  let waiting: string | undefined;
  try {
    const connection = await connectTarget(name, target, {
      env,
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      onNotice: (text) => {
        waiting = text;
      },
    });
    try {
      return await queryServer(connection.api, signal);
    } finally {
      connection.close();
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (StudioError.is(error, 'not_found')) return [{ ...trouble('server', error), state: 'missing' }];
    if (limit.aborted)
      return [
        {
          name: 'server',
          state: 'wrong',
          text: waiting ?? `no response within ${CONNECT_TIMEOUT_MS / 1000} s`,
          hint:
            'url' in target
              ? 'Check that the server is running and reachable from this machine.'
              : 'Check its pod with kubectl describe pod and kubectl logs.',
        },
      ];
    return [trouble('server', error)];
  }
}

async function queryServer(api: Api, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  const [server, { batches }] = await Promise.all([api.server(signal), api.batches({ limit: MAX_BATCHES }, signal)]);
  const open = batches.filter(({ state }) => state !== 'ended');
  const running = open.filter(({ counts }) => counts.running + counts.held > 0).length;
  const { product, running: attempts, held, queued, workers } = server;
  const data = {
    batches: { running, queued: open.length - running },
    running: attempts,
    held,
    queued,
    workers: workers.length,
  };
  return [
    {
      name: 'server',
      state: 'ok',
      text: `${product}${product === PRODUCT ? '' : `; this client is ${PRODUCT}`}`,
      data: { product },
    },
    ...(server.you === undefined ? [] : [userFinding(server.you)]),
    {
      name: 'queue',
      state: 'ok',
      text:
        `batches: ${running} running, ${open.length - running} queued; attempts: ${attempts} running, ${held} ` +
        `held, ${queued} queued; ${plural(workers.length, 'worker')}`,
      data,
    },
  ];
}

/** Says as whom the user is connected, and with which rights. */
export function userFinding({ user, rights }: NonNullable<ServerInfo['you']>): TargetFinding {
  return {
    name: 'user',
    state: 'ok',
    text: `${user ?? 'a client token'}; rights: ${rights.join(', ')}`,
    data: { ...(user === undefined ? {} : { user }), rights },
  };
}

async function resourceFindings(cluster: Cluster, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  const pods = cluster.list('Pod', { labels: OURS, signal }).then(podsFinding);
  const nodes = cluster.list('Node', { signal });
  const all = cluster
    .list('Pod', { namespace: 'all', fields: 'status.phase!=Succeeded,status.phase!=Failed', signal })
    .catch((error: unknown) => {
      if (StudioError.is(error)) return undefined; // then GPU usage is unknown
      throw error;
    });
  const gpus = Promise.all([nodes, all]).then(([allNodes, runningPods]) => gpusFinding(allNodes, runningPods));
  const quotas = cluster.list('ResourceQuota', { signal }).then(quotaFinding);
  const parts = [
    ['pods', pods],
    ['nodes', nodes.then(nodesFinding)],
    ['gpus', gpus],
    ['quota', quotas],
  ] as const;
  return Promise.all(
    parts.map(([name, finding]) =>
      finding.catch((error: unknown) => {
        signal?.throwIfAborted();
        return trouble(name, error);
      }),
    ),
  );
}

/** Counts the pods of Rollout Studio and reports why some cannot run. */
export function podsFinding(pods: readonly Pod[]): TargetFinding {
  const live = pods.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
  const workers = live.filter((pod) => pod.metadata.labels?.[LABEL.component] === 'worker');
  const running = live.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const waiting = running.filter((pod) => !isReady(pod) && !isUnresponsive(pod));
  const obstacles = waiting.map(obstacleOf).filter((text) => text !== undefined);
  const data = {
    pods: live.length,
    workers: workers.length,
    starting: waiting.length - obstacles.length,
    unheard: running.filter(isUnresponsive).length,
    obstacles,
  };
  const parts = [`${plural(live.length, 'pod')} (${plural(workers.length, 'worker')})`];
  if (data.starting > 0) parts.push(`${data.starting} starting`);
  if (data.unheard > 0) parts.push(`${data.unheard} on nodes that do not respond`);
  const text = parts.join(', ');
  return obstacles.length === 0
    ? { name: 'pods', state: 'ok', text, data }
    : { name: 'pods', state: 'wrong', text: `${text}; ${obstacles.length} cannot run: ${obstacles[0] ?? ''}`, data };
}

/** Counts the nodes that accept pods. */
export function nodesFinding(nodes: readonly Node[]): TargetFinding {
  const ready = nodes.filter(
    (node) =>
      node.spec?.unschedulable !== true &&
      node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
  ).length;
  return {
    name: 'nodes',
    state: ready === 0 ? 'wrong' : 'ok',
    text: `${ready} of ${nodes.length} accept pods`,
    data: { ready, nodes: nodes.length },
  };
}

/** Counts the GPUs of all nodes and those in use. `pods` is undefined if the user cannot read all pods. */
export function gpusFinding(nodes: readonly Node[], pods: readonly Pod[] | undefined): TargetFinding {
  const total = nodes.reduce((sum, node) => sum + Number(node.status?.allocatable?.[GPU] ?? 0), 0);
  const used = pods?.reduce((sum, pod) => sum + gpusOf(pod), 0);
  const text =
    total === 0
      ? 'none'
      : `${total}; ${used === undefined ? 'no permission to read how many are in use' : `${total - used} free`}`;
  return {
    name: 'gpus',
    state: total > 0 && used === undefined ? 'unknown' : 'ok',
    text,
    data: { gpus: total, ...(used === undefined ? {} : { taken: used }) },
  };
}

/** Returns the GPUs of a scheduled pod: the sum of its containers or its largest init container. */
function gpusOf(pod: Pod): number {
  if (pod.spec?.nodeName === undefined) return 0;
  const requests = (of: NonNullable<Pod['spec']>['containers'] = []): number[] =>
    of.map(({ resources }) => Number(resources?.requests?.[GPU] ?? resources?.limits?.[GPU] ?? 0));
  return Math.max(
    requests(pod.spec.containers).reduce((sum, value) => sum + value, 0),
    ...requests(pod.spec.initContainers),
    0,
  );
}

/** Reports the limits and usage of the namespace's quotas, and whether any is used up. */
export function quotaFinding(quotas: readonly ResourceQuota[]): TargetFinding {
  if (quotas.length === 0) return { name: 'quota', state: 'ok', text: 'none' };
  const lines = quotas.flatMap((quota) =>
    Object.entries(quota.status?.hard ?? {}).map(([resource, hard]) => ({
      resource,
      hard,
      used: String(quota.status?.used?.[resource] ?? 0),
    })),
  );
  const full = lines.filter(({ hard, used }) => quantity(used) >= quantity(hard));
  const text = lines.map(({ resource, hard, used }) => `${resource} ${used} of ${hard}`).join(', ');
  const data = { quota: lines };
  return full.length === 0
    ? { name: 'quota', state: 'ok', text, data }
    : {
        name: 'quota',
        state: 'wrong',
        text: `used up: ${full.map(({ resource }) => resource).join(', ')} (${text})`,
        hint:
          'New pods wait until others end. Ask a cluster administrator for a higher quota, or reduce `pods` in the ' +
          'batch file.',
        data,
      };
}

const UNITS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Parses a Kubernetes quantity: `500m` is 0.5, `2Gi` is 2147483648. */
export function quantity(text: string): number {
  const [, number = '', unit = ''] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  return Number(number === '' ? Number.NaN : number) * (UNITS[unit] ?? Number.NaN);
}

function trouble(name: TargetFinding['name'], error: unknown): TargetFinding {
  if (!StudioError.is(error)) return { name, state: 'wrong', text: errorText(error) };
  const unreadable = error.code === 'forbidden' && name !== 'cluster' && name !== 'server';
  return {
    name,
    state: unreadable ? 'unknown' : 'wrong',
    text: unreadable ? `no permission to read: ${error.message}` : error.message,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  };
}
