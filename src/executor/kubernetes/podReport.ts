/** Describes pods for people, as `kubectl get pods` does. Pure. */
import { type ContainerStatus, eventTime, type KubeEvent, type Pod } from '../../kubernetes/access/objects.ts';
import { isReady } from '../../kubernetes/access/podReady.ts';
import type { ExecutorPod, PodContainer, PodEvent } from '../../protocol/pods.ts';
import { podEnd, podNotices } from './podLife.ts';
import { TOOLS, WORKER } from './podManifest.ts';

/** Events of one pod, the newest ones. */
const MAX_EVENTS = 20;
/** Containers of a pod in the order in which people look at them. */
const FIRST: readonly string[] = [WORKER, TOOLS];

/** @param events Those of the pod, oldest first. */
export function podReport(pod: Pod, events: readonly KubeEvent[]): ExecutorPod {
  const containers = containersOf(pod);
  const main = containers.find(({ name }) => name === WORKER);
  const { state, reason, text } = stateOf(pod, containers);
  const [created, started] = [timeOf(pod.metadata.creationTimestamp), main?.started_at];
  const node = pod.spec?.nodeName ?? '';
  return {
    name: pod.metadata.name,
    kind: 'pod',
    state,
    ready: isReady(pod),
    restarts: containers.reduce((sum, { restarts }) => sum + restarts, 0),
    log: true,
    ...(node === '' ? {} : { node }),
    ...(reason === undefined || reason === '' ? {} : { reason }),
    ...(text === undefined || text === '' ? {} : { text }),
    ...(main === undefined ? {} : { image: main.image }),
    ...(created === undefined ? {} : { created_at: created }),
    ...(started === undefined ? {} : { started_at: started }),
    containers,
    events: events.slice(-MAX_EVENTS).map(eventOf),
  };
}

function stateOf(
  pod: Pod,
  containers: readonly PodContainer[],
): { readonly state: ExecutorPod['state']; readonly reason?: string | undefined; readonly text?: string | undefined } {
  const phase = pod.status?.phase;
  const end = podEnd(pod);
  const bad = containers.find(
    ({ state, reason, exit_code: code }) => state === 'ended' && reason !== undefined && code !== undefined && code > 0,
  );
  if (phase === 'Succeeded') return { state: 'ended', reason: 'Completed', text: end?.infra.text };
  if (phase === 'Failed' || (end !== undefined && !end.isClean))
    return { state: 'failed', reason: pod.status?.reason ?? bad?.reason, text: end?.infra.text };
  if (pod.metadata.deletionTimestamp !== undefined) return { state: 'ending', reason: 'Terminating', text: undefined };
  const notice = podNotices(pod).find(({ infra }) => infra.what !== 'pod_started' && infra.what !== 'image');
  const scheduling = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const waiting = containers.find(({ state, reason }) => state === 'waiting' && reason !== undefined);
  if (scheduling?.status !== 'True')
    return { state: 'pending', reason: scheduling?.reason, text: notice?.infra.text ?? scheduling?.message };
  if (phase === 'Running' && isReady(pod)) return { state: 'running' };
  return {
    state: phase === 'Running' && waiting === undefined ? 'running' : 'starting',
    reason: waiting?.reason,
    text: notice?.infra.text ?? waiting?.text,
  };
}

function containersOf(pod: Pod): PodContainer[] {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const specified = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  return specified
    .map(({ name, image = '' }) =>
      containerOf(
        name,
        image,
        statuses.find((status) => status.name === name),
      ),
    )
    .sort((a, b) => rankOf(a.name) - rankOf(b.name));
}

function rankOf(name: string): number {
  const index = FIRST.indexOf(name);
  return index === -1 ? FIRST.length : index;
}

function containerOf(name: string, image: string, status: ContainerStatus | undefined): PodContainer {
  const { running, waiting, terminated } = status?.state ?? {};
  const started = timeOf(running?.startedAt ?? terminated?.startedAt);
  const reason = waiting?.reason ?? terminated?.reason;
  const text = waiting?.message ?? terminated?.message;
  return {
    name,
    image: status?.image === undefined || status.image === '' ? image : status.image,
    state: running !== undefined ? 'running' : terminated !== undefined ? 'ended' : 'waiting',
    ready: status?.ready ?? false,
    restarts: status?.restartCount ?? 0,
    ...(reason === undefined ? {} : { reason }),
    ...(text === undefined ? {} : { text }),
    ...(terminated === undefined ? {} : { exit_code: terminated.exitCode }),
    ...(started === undefined ? {} : { started_at: started }),
  };
}

function eventOf(event: KubeEvent): PodEvent {
  const { type, reason = '', message = '', count } = event;
  return {
    at: eventTime(event),
    warning: type === 'Warning',
    reason,
    text: message,
    count: Math.max(1, count ?? 1),
  };
}

function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
}
