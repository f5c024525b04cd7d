/** Counts what a cluster has for batches: pods, nodes, GPUs, and quotas. */
import { StudioError } from '../../../common/errors.ts';
import { plural } from '../../../common/text.ts';
import type { Cluster } from '../../../kubernetes/access/cluster.ts';
import type { Node, Pod, ResourceQuota } from '../../../kubernetes/access/objects.ts';
import { isReady, isUnresponsive } from '../../../kubernetes/access/podReady.ts';
import { LABEL, OURS, PROBE_LABEL } from '../../../kubernetes/names.ts';
import { largestAmounts } from '../../podFit.ts';
import { obstacleOf } from '../serverPod.ts';
import { type TargetFinding, trouble } from './finding.ts';

const GPU = 'nvidia.com/gpu';

export async function resourceFindings(cluster: Cluster, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  const pods = cluster.list('Pod', { labels: `${OURS},!${PROBE_LABEL}`, signal }).then(podsFinding);
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
    data: { ready, nodes: nodes.length, largest: largestAmounts(nodes) ?? {} },
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
