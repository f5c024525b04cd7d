/** Reads the pods of a batch and their logs, for people who look at them. Keeps nothing. */
import { sleep } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { Cluster } from '../../kubernetes/access/cluster.ts';
import { responseStatus } from '../../kubernetes/access/kubeErrors.ts';
import { eventTime, type KubeEvent, type Pod } from '../../kubernetes/access/objects.ts';
import { podLog } from '../../kubernetes/access/podLog.ts';
import { batchLabels, selector } from '../../kubernetes/names.ts';
import type { ExecutorPod, PodLogOptions } from '../../protocol/pods.ts';
import { batchOf } from './jobRounds.ts';
import { podEnd } from './podLife.ts';
import { WORKER } from './podManifest.ts';
import { podReport } from './podReport.ts';

/** How often it is tried whether a container has started whose log is to be followed. */
const START_POLL_MS = 1_000;

/** Returns the pods of a batch, oldest first, with what the cluster says about them. */
export async function batchPods(cluster: Cluster, batch: string, signal: AbortSignal): Promise<ExecutorPod[]> {
  const [pods, events] = await Promise.all([
    cluster.list('Pod', { labels: selector(batchLabels(batch)), signal }),
    podEvents(cluster, signal),
  ]);
  return pods
    .filter((pod) => batchOf(pod) === batch)
    .sort((a, b) => createdAt(a) - createdAt(b) || a.metadata.name.localeCompare(b.metadata.name))
    .map((pod) => podReport(pod, events.get(pod.metadata.uid ?? '') ?? []));
}

/** Yields the log of a pod of a batch. If it is followed, waits until its container has started. */
export async function* batchPodLog(
  cluster: Cluster,
  batch: string,
  name: string,
  { container = WORKER, tail, follow = false }: PodLogOptions,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  for (;;) {
    const pod = await cluster.get('Pod', name, { signal });
    if (pod === undefined || batchOf(pod) !== batch)
      throw new StudioError('not_found', `Batch ${batch} has no pod ${name} now.`, {
        hint: 'What was recorded of pods that are gone is in the batch: rollout pods BATCH.',
      });
    const names = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].map((each) => each.name);
    if (!names.includes(container))
      throw new StudioError('usage', `Pod ${name} has no container ${container}.`, {
        hint: `Its containers are ${names.join(', ')}.`,
      });
    try {
      yield* podLog(cluster, name, { container, tail, follow }, signal);
      return;
    } catch (error) {
      // 400: the container has not started.
      if (responseStatus(error) !== 400) throw error;
      if (!follow || podEnd(pod) !== undefined)
        throw new StudioError('not_found', `Container ${container} of pod ${name} has no log yet.`, { cause: error });
    }
    await sleep(START_POLL_MS, signal);
  }
}

/** Returns the events of pods by their UIDs, oldest first; none if the server may not list them. */
async function podEvents(cluster: Cluster, signal: AbortSignal): Promise<Map<string, KubeEvent[]>> {
  const events = await cluster
    .list('Event', { fields: 'involvedObject.kind=Pod', signal })
    .catch((error: unknown): KubeEvent[] => {
      if (StudioError.is(error, 'forbidden')) return [];
      throw error;
    });
  events.sort((a, b) => eventTime(a) - eventTime(b));
  return Map.groupBy(events, ({ involvedObject }) => involvedObject.uid ?? '');
}

function createdAt({ metadata }: Pod): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0;
}
