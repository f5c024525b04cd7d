/**
 * What is known of a target: whether it is reached, what runs there, and what it has to give. Everything is read with
 * the user's own kubeconfig; what one may not read is named as such, and nothing of it stops the rest.
 */

import { errorText, StudioError } from '../../common/errors.ts';
import { PRODUCT } from '../../common/product.ts';
import { plural } from '../../common/text.ts';
import { Cluster } from '../../kubernetes/access/cluster.ts';
import type { Node, Pod, ResourceQuota } from '../../kubernetes/access/objects.ts';
import { isReady, isUnheard } from '../../kubernetes/access/podReady.ts';
import { LABEL, OURS } from '../../kubernetes/names.ts';
import type { Api } from '../../protocol/api.ts';
import { connectTarget } from './connectTarget.ts';
import { obstacleOf } from './serverPod.ts';
import { clusterRef, type Target, targetPlace } from './target.ts';

/** `unknown`: it may not be read. */
export type FindingState = 'ok' | 'missing' | 'wrong' | 'unknown';

export interface TargetFinding {
  readonly name: 'cluster' | 'namespace' | 'clock' | 'server' | 'queue' | 'pods' | 'nodes' | 'gpus' | 'quota';
  readonly state: FindingState;
  readonly text: string;
  /** What to do about it. */
  readonly hint?: string;
  /** The figures of it, for programs. */
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface TargetStatus {
  readonly target: string;
  readonly place: string;
  readonly findings: readonly TargetFinding[];
}

export interface StatusOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

/** Clocks that differ by more make tokens and certificates invalid sooner or later. */
const SKEW_SECONDS = 30;
const CONNECT_MS = 20_000;
const GPU = 'nvidia.com/gpu';
const BATCHES = 200;

/** Never throws but for cancellation: what goes wrong is a finding. */
export async function targetStatus(name: string, target: Target, options: StatusOptions): Promise<TargetStatus> {
  const place = targetPlace(target);
  if ('url' in target) return { target: name, place, findings: await serverFindings(name, target, options) };
  let cluster: Cluster | undefined;
  try {
    cluster = await Cluster.open(clusterRef(name, target));
    const reached = await clusterFindings(cluster, options.signal);
    const [server, inside] = await Promise.all([
      serverFindings(name, target, options),
      insideFindings(cluster, options.signal),
    ]);
    return { target: name, place, findings: [...reached, ...server, ...inside] };
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
  const found: TargetFinding = {
    name: 'cluster',
    state: 'ok',
    text: `Kubernetes ${git} at ${server}, namespace ${namespace}`,
    data: { version: git, server, context, namespace },
  };
  const findings = [found, ...(await namespaceFindings(cluster, signal))];
  if (skewSeconds === undefined || Math.abs(skewSeconds) <= SKEW_SECONDS) return findings;
  const text =
    `the cluster's clock is ${Math.round(Math.abs(skewSeconds))} s ${skewSeconds > 0 ? 'behind' : 'ahead of'} this ` +
    `machine's`;
  return [
    ...findings,
    {
      name: 'clock',
      state: 'wrong',
      text,
      hint: 'Set the clocks by NTP: tokens and certificates are valid by them.',
      data: { skew_seconds: skewSeconds },
    },
  ];
}

/** Whether the namespace is there; nothing where that may not be read. */
async function namespaceFindings(cluster: Cluster, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  try {
    if ((await cluster.get('Namespace', cluster.namespace, { signal })) !== undefined) return [];
    return [
      {
        name: 'namespace',
        state: 'missing',
        text: `there is no namespace ${cluster.namespace}`,
        hint: 'rollout cluster install --create-namespace makes it.',
      },
    ];
  } catch (error) {
    if (StudioError.is(error, 'forbidden')) return [];
    throw error;
  }
}

/** Connects as every command does, but does not wait for a server that is starting. */
async function serverFindings(name: string, target: Target, { env, signal }: StatusOptions): Promise<TargetFinding[]> {
  const limit = AbortSignal.timeout(CONNECT_MS);
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
      return await askedServer(connection.api, signal);
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
          text: waiting ?? `it did not answer within ${CONNECT_MS / 1000} s`,
          hint:
            'url' in target
              ? 'See whether the server runs, and what is between it and this machine.'
              : 'See its pod: kubectl describe pod, kubectl logs.',
        },
      ];
    return [trouble('server', error)];
  }
}

async function askedServer(api: Api, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  const [server, { batches }] = await Promise.all([api.server(signal), api.batches({ limit: BATCHES }, signal)]);
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

async function insideFindings(cluster: Cluster, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  const pods = cluster.list('Pod', { labels: OURS, signal }).then(podsFinding);
  const nodes = cluster.list('Node', { signal });
  const all = cluster
    .list('Pod', { namespace: 'all', fields: 'status.phase!=Succeeded,status.phase!=Failed', signal })
    .catch((error: unknown) => {
      if (StudioError.is(error)) return undefined; // how many GPUs are taken is then unknown
      throw error;
    });
  const gpus = Promise.all([nodes, all]).then(([found, running]) => gpusFinding(found, running));
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

/** Our pods: how many, and what keeps those from running that do not. */
export function podsFinding(pods: readonly Pod[]): TargetFinding {
  const live = pods.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
  const workers = live.filter((pod) => pod.metadata.labels?.[LABEL.component] === 'worker');
  const lasting = live.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const waiting = lasting.filter((pod) => !isReady(pod) && !isUnheard(pod));
  const obstacles = waiting.map(obstacleOf).filter((text) => text !== undefined);
  const data = {
    pods: live.length,
    workers: workers.length,
    starting: waiting.length - obstacles.length,
    unheard: lasting.filter(isUnheard).length,
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

/** How many nodes take pods. */
export function nodesFinding(nodes: readonly Node[]): TargetFinding {
  const ready = nodes.filter(
    (node) =>
      node.spec?.unschedulable !== true &&
      node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
  ).length;
  return {
    name: 'nodes',
    state: ready === 0 ? 'wrong' : 'ok',
    text: `${ready} of ${nodes.length} take pods`,
    data: { ready, nodes: nodes.length },
  };
}

/** GPUs of all nodes, and how many of them pods have; `pods` undefined: those of others may not be read. */
export function gpusFinding(nodes: readonly Node[], pods: readonly Pod[] | undefined): TargetFinding {
  const total = nodes.reduce((sum, node) => sum + Number(node.status?.allocatable?.[GPU] ?? 0), 0);
  const taken = pods?.reduce((sum, pod) => sum + gpusOf(pod), 0);
  const text =
    total === 0
      ? 'none'
      : `${total}; ${taken === undefined ? 'how many are taken may not be read' : `${total - taken} free`}`;
  return {
    name: 'gpus',
    state: total > 0 && taken === undefined ? 'unknown' : 'ok',
    text,
    data: { gpus: total, ...(taken === undefined ? {} : { taken }) },
  };
}

/** What a pod that was placed holds: its containers together, or one of its init containers, whichever is more. */
function gpusOf(pod: Pod): number {
  if (pod.spec?.nodeName === undefined) return 0;
  const wanted = (of: NonNullable<Pod['spec']>['containers'] = []): number[] =>
    of.map(({ resources }) => Number(resources?.requests?.[GPU] ?? resources?.limits?.[GPU] ?? 0));
  return Math.max(
    wanted(pod.spec.containers).reduce((sum, value) => sum + value, 0),
    ...wanted(pod.spec.initContainers),
    0,
  );
}

/** What the namespace's quotas allow and how much of it is used; used up where one has nothing left. */
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
          'Pods wait until others end. Ask the cluster’s administrators for more, or ask for less in the batch ' +
          'file’s `pods`.',
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

/** The number an amount of Kubernetes stands for: `500m` is 0.5, `2Gi` is 2147483648. */
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
    text: unreadable ? `may not be read: ${error.message}` : error.message,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  };
}
