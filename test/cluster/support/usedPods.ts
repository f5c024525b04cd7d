/** The pods of batches, as the cluster itself has them: how many there are at once, and how long they ran. */
import { sleep } from '../../../src/common/abort.ts';
import type { Cluster } from '../../../src/kubernetes/access/cluster.ts';
import type { Pod } from '../../../src/kubernetes/access/objects.ts';
import { watchList } from '../../../src/kubernetes/access/watch.ts';
import { batchLabels, selector } from '../../../src/kubernetes/names.ts';

const HOUR_MS = 3_600_000;
const BATCH = 'rollout-studio/batch-id';

/** Counts the pods of some batches that have not ended, from each event of the cluster. */
export class PodCounter implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #live = new Set<string>();
  readonly #watch: Promise<void>;
  /** The most at once. */
  most = 0;

  constructor(cluster: Cluster, batches: ReadonlySet<string>) {
    const see = (pod: Pod, isGone: boolean): void => {
      if (!batches.has(pod.metadata.annotations?.[BATCH] ?? '')) return;
      const { phase } = pod.status ?? {};
      if (isGone || phase === 'Succeeded' || phase === 'Failed') this.#live.delete(pod.metadata.name);
      else this.#live.add(pod.metadata.name);
      this.most = Math.max(this.most, this.#live.size);
    };
    this.#watch = watchList(
      cluster,
      'Pod',
      {},
      {
        signal: this.#stop.signal,
        onList: (pods) => {
          for (const pod of pods) see(pod, false);
        },
        onEvent: (type, pod) => see(pod, type === 'DELETED'),
      },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watch.catch(() => undefined);
  }
}

/**
 * Waits until all pods of a batch ended. Returns the CPU hours that they requested, and those of one second: the times
 * of the cluster are whole seconds, and a pod that was also recorded while it ran may have a part of one more.
 */
export async function cpuHoursOf(
  cluster: Cluster,
  batch: string,
): Promise<{ readonly hours: number; readonly second: number }> {
  for (;;) {
    const pods = await cluster.list('Pod', { labels: selector(batchLabels(batch)) });
    if (pods.every(({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Failed')) {
      const sum = (ms: (pod: Pod) => number): number =>
        pods.reduce((all, pod) => all + (ms(pod) / HOUR_MS) * cpusOf(pod), 0);
      return { hours: sum(ranMs), second: sum(() => 1_000) };
    }
    await sleep(200, AbortSignal.timeout(60_000));
  }
}

function ranMs({ status }: Pod): number {
  const ends = (status?.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''));
  return Math.max(...ends) - Date.parse(status?.startTime ?? '');
}

/** Also those of sidecars, which are init containers that stay. */
function cpusOf({ spec }: Pod): number {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...(spec?.containers ?? []), ...sidecars].reduce((sum, { resources }) => {
    const amount = resources?.requests?.['cpu'] ?? '0';
    return sum + (amount.endsWith('m') ? Number(amount.slice(0, -1)) / 1_000 : Number(amount));
  }, 0);
}
