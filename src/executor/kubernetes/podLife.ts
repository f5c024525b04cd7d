/** What the state of a worker's pod says: that it waits and why, that it started, how it ended. Pure. */

import type { ContainerStatus, KubeEvent, Pod } from '../../kubernetes/access/objects.ts';
import type { EventData } from '../../trace/schema.ts';
import { WORKER } from './jobManifest.ts';

type Infra = EventData['infra'];

/** Something to tell once: `key` says what is the same thing. */
export interface PodNotice {
  readonly key: string;
  /** Of the pod: each tells it. Of the batch: one pod tells it for all. */
  readonly of: 'pod' | 'batch';
  readonly infra: Infra;
}

export interface PodEnd {
  /** Nobody took it away and nothing failed. */
  readonly well: boolean;
  readonly infra: Infra;
}

/** Why containers cannot start, other than for their image. */
const START_TROUBLES: ReadonlySet<string> = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'StartError',
  'CrashLoopBackOff',
]);
const IMAGE_TROUBLES: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
]);
/** What the kubelet tells only by events. */
const EVENT_TROUBLES: ReadonlySet<string> = new Set(['FailedMount', 'FailedAttachVolume', 'FailedCreatePodSandBox']);

/** Mounts of a busy node fail once and then work. */
const PERSISTENT = 3;

/** What is to be told of a pod that has not ended. */
export function podNews(pod: Pod): PodNotice[] {
  const name = pod.metadata.name;
  const news: PodNotice[] = [];
  const placed = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (placed?.status === 'False' && placed.reason === 'Unschedulable') {
    // How many nodes there are changes; the reason is the same.
    news.push({
      key: `place ${withoutNumbers(placed.message ?? '')}`,
      of: 'batch',
      infra: {
        what: 'pod_pending',
        pod: name,
        text: `Pod ${name} waits for a node: ${placed.message ?? 'none is free'}`,
      },
    });
  }
  for (const status of containers(pod)) {
    const { reason, message } = status.state?.waiting ?? {};
    if (reason === undefined) continue;
    if (IMAGE_TROUBLES.has(reason)) {
      news.push({
        key: `image ${status.image}`,
        of: 'batch',
        infra: {
          what: 'pod_image',
          ...at(pod),
          text:
            `Cannot pull image ${status.image} of pod ${name} (${reason}): ` +
            (message ?? 'the cluster does not say why'),
        },
      });
    } else if (START_TROUBLES.has(reason)) {
      news.push({
        key: `start ${status.name} ${reason}`,
        of: 'batch',
        infra: {
          what: 'pod_start',
          ...at(pod),
          text:
            `The container ${status.name} of pod ${name} cannot start (${reason}): ` +
            (message ?? 'the cluster does not say why'),
        },
      });
    }
  }
  const started = startOf(pod);
  if (started !== undefined) {
    const ms = Math.max(0, started - Date.parse(pod.metadata.creationTimestamp ?? ''));
    news.push({
      key: 'started',
      of: 'pod',
      infra: {
        what: 'pod_started',
        ...at(pod),
        ...(Number.isFinite(ms) ? { ms } : {}),
        text:
          `Pod ${name} ` +
          `started${onNode(pod)}${Number.isFinite(ms) ? `, ${Math.round(ms / 1000)} s after it was made` : ''}.`,
      },
    });
  }
  return news;
}

/** What an event of the cluster about a pod says. */
export function podEventNews(pod: Pod, event: KubeEvent): PodNotice[] {
  const { reason = '', message = '' } = event;
  const name = pod.metadata.name;
  if (reason === 'Pulling')
    return [
      {
        key: message,
        of: 'batch',
        infra: { what: 'pod_pulling', ...at(pod), text: `Pod ${name} gets its image: ${message}` },
      },
    ];
  if (EVENT_TROUBLES.has(reason) && (event.count ?? 1) >= PERSISTENT)
    return [
      {
        key: `event ${reason}`,
        of: 'batch',
        infra: { what: 'pod_pending', ...at(pod), text: `Pod ${name} cannot start yet (${reason}): ${message}` },
      },
    ];
  return [];
}

/** What an event about a Job says: that pods cannot be made. */
export function jobEventNews(event: KubeEvent): PodNotice[] {
  if (event.reason !== 'FailedCreate') return [];
  const message = event.message ?? '';
  if (message.includes('exceeded quota')) {
    return [
      {
        key: 'quota',
        of: 'batch',
        infra: {
          what: 'quota',
          text:
            'The quota of the namespace is short, so pods wait until something there has ended: ' +
            message.slice(message.indexOf('exceeded quota')),
        },
      },
    ];
  }
  // Each try has a pod of another name.
  const why = message.replace(/^Error creating: (pods "[^"]*" is forbidden: )?/, '');
  const hint = why.includes('must specify') ? ' (`pods.requests` and `pods.limits` of the batch file say them)' : '';
  return [
    {
      key: `create ${withoutNumbers(why)}`,
      of: 'batch',
      infra: {
        what: 'pod_refused',
        text: `The cluster makes no pods for ${event.involvedObject.name ?? 'the Job'}: ${why}${hint}`,
      },
    },
  ];
}

/** undefined: it has not ended. `gone`: it is not there any more. */
export function podEnd(pod: Pod, gone = false): PodEnd | undefined {
  const { phase, reason, message } = pod.status ?? {};
  const worker = pod.status?.containerStatuses?.find(({ name }) => name === WORKER)?.state?.terminated;
  if (!gone && worker === undefined && phase !== 'Succeeded' && phase !== 'Failed') return undefined;
  const name = pod.metadata.name;
  const ended = (what: string, text: string): PodEnd => ({ well: false, infra: { what, ...at(pod), text } });
  if (worker?.reason === 'OOMKilled') {
    return ended(
      'pod_oom',
      `Pod ${name} was ended${onNode(pod)}: it used more memory than it may (OOMKilled). Give it more by ` +
        '`pods.limits.memory`, or fewer rollouts at once by a higher `pods.count`.',
    );
  }
  if (worker?.exitCode === 0)
    return { well: true, infra: { what: 'pod_ended', ...at(pod), text: `Pod ${name} ended.` } };
  const disrupted = pod.status?.conditions?.find(
    ({ type, status }) => type === 'DisruptionTarget' && status === 'True',
  );
  if (disrupted !== undefined) {
    const what =
      { PreemptionByScheduler: 'pod_preempted', DeletionByTaintManager: 'node_lost', DeletionByPodGC: 'node_lost' }[
        disrupted.reason ?? ''
      ] ?? 'pod_evicted';
    const how = disrupted.reason === 'EvictionByEvictionAPI' ? 'evicted, as when its node is drained,' : 'taken away';
    return ended(
      what,
      `Pod ${name} was ${how}${onNode(pod)} (${disrupted.reason ?? 'disrupted'}): ${disrupted.message ?? ''}`.replace(
        /: $/,
        '.',
      ),
    );
  }
  if (reason === 'Evicted') return ended('pod_evicted', `Pod ${name} was evicted${onNode(pod)}: ${message ?? ''}`);
  if (gone || pod.metadata.deletionTimestamp !== undefined) return ended('pod_deleted', `Pod ${name} was deleted.`);
  if (worker !== undefined)
    return ended(
      'pod_failed',
      `Pod ${name} ended with exit code ${worker.exitCode}${onNode(pod)}${lastLine(worker.message)}`,
    );
  return ended(
    'pod_failed',
    `Pod ${name} failed${onNode(pod)}${reason === undefined ? '' : ` (${reason})`}: ` +
      (message ?? 'the cluster does not say why'),
  );
}

/** A pod that is to end, whose node does not say that it did. */
export function stuckNews(pod: Pod): PodNotice {
  const { name } = pod.metadata;
  const { key, of, infra } = lostNode(pod);
  return {
    key,
    of,
    infra: {
      ...infra,
      ...at(pod),
      text: `Pod ${name} is to end, and its node ${pod.spec?.nodeName ?? ''} does not say that it did. ${GIVE_UP_NODE}`,
    },
  };
}

/** What makes a Job fill the places of pods whose end nobody can confirm. */
const GIVE_UP_NODE =
  'Their places in the Job are filled once the node is back, or is given up: delete it (kubectl delete node), or ' +
  'taint it node.kubernetes.io/out-of-service=nodeshutdown:NoExecute.';

/** The cluster says it of each pod on a node, once that has been silent for its grace. */
export function isSilence(event: KubeEvent): boolean {
  return event.reason === 'NodeNotReady';
}

/** Told once for all pods of the batch there. */
export function lostNode(pod: Pod): PodNotice {
  const node = pod.spec?.nodeName ?? '';
  return {
    key: `node ${node}`,
    of: 'batch',
    infra: {
      what: 'node_lost',
      node,
      text:
        `Node ${node} does not answer any more. What ran in its pods goes on in other pods once its lease is over. ` +
        GIVE_UP_NODE,
    },
  };
}

function containers(pod: Pod): ContainerStatus[] {
  return [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
}

function startOf(pod: Pod): number | undefined {
  const state = pod.status?.containerStatuses?.find(({ name }) => name === WORKER)?.state;
  const text = state?.running?.startedAt ?? state?.terminated?.startedAt;
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
}

function at(pod: Pod): { pod: string; node?: string } {
  const node = pod.spec?.nodeName;
  return { pod: pod.metadata.name, ...(node === undefined || node === '' ? {} : { node }) };
}

function onNode(pod: Pod): string {
  const node = pod.spec?.nodeName;
  return node === undefined || node === '' ? '' : ` on node ${node}`;
}

function lastLine(log: string | undefined): string {
  const line = log?.trim().split('\n').at(-1)?.trim() ?? '';
  return line === '' ? '.' : `: ${line.slice(0, 500)}`;
}

function withoutNumbers(text: string): string {
  return text.replaceAll(/\d+/g, '#');
}
