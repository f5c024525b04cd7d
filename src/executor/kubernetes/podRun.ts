/** How long a pod has run, and what it requested meanwhile. Pure. */
import type { Pod } from '../../kubernetes/access/objects.ts';
import type { PodRun } from '../executor.ts';

const GPU = /^(nvidia\.com\/(gpu|mig-.+)|amd\.com\/gpu|gpu\.intel\.com\/.+)$/;

/** Returns how long a pod has run at `now`; undefined if it has not started. */
export function podRun(pod: Pod, batch: string, now: number): PodRun | undefined {
  const { uid } = pod.metadata;
  const from = Date.parse(pod.status?.startTime ?? '');
  if (uid === undefined || Number.isNaN(from)) return undefined;
  return { uid, batch, from, until: Math.max(from, endOf(pod) ?? now), ...requestsOf(pod) };
}

/** Returns whether all containers of a pod have ended. */
export function hasEnded({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** Returns when the last container of a pod that has ended did. */
function endOf(pod: Pod): number | undefined {
  const { containerStatuses = [] } = pod.status ?? {};
  if (!hasEnded(pod)) return undefined;
  const ends = containerStatuses
    .map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''))
    .filter((time) => !Number.isNaN(time));
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** Returns the sums of what runs at the same time: containers, and sidecars, which are init containers that stay. */
function requestsOf(pod: Pod): Pick<PodRun, 'cpus' | 'gpus'> {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const running = [...containers, ...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')];
  let [cpus, gpus] = [0, 0];
  for (const { resources } of running) {
    // A limit without a request is one.
    const requests = { ...resources?.limits, ...resources?.requests };
    cpus += cpuCount(requests['cpu']);
    for (const [name, amount] of Object.entries(requests)) if (GPU.test(name)) gpus += Number(amount) || 0;
  }
  return { cpus, gpus };
}

/** Parses `2`, `0.5`, or `250m`. */
export function cpuCount(quantity: string | undefined): number {
  const match = /^(\d+(?:\.\d+)?)(m?)$/.exec(quantity ?? '');
  return match === null ? 0 : Number(match[1]) / (match[2] === 'm' ? 1_000 : 1);
}
