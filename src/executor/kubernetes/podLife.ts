/** Derives notices from the state of a worker's pod: why it waits, that it started, and how it ended. Pure. */

import { sentence } from '../../common/text.ts';
import type { ContainerStatus, KubeEvent, Pod } from '../../kubernetes/access/objects.ts';
import { hasDigest, withDigest } from '../../kubernetes/images/imageDigest.ts';
import { HANDED_OVER_EXIT } from '../../kubernetes/programs/workerBootstrap.ts';
import type { EventData } from '../../trace/schema.ts';
import { TOOLS, WORKER } from './podManifest.ts';

type Infra = EventData['infra'];

/** Something to report once. Notices with the same `key` are the same thing. */
export interface PodNotice {
  readonly key: string;
  /** `pod`: reported for each pod. `batch`: reported once for all pods of the batch. */
  readonly of: 'pod' | 'batch';
  readonly infra: Infra;
}

export interface PodEnd {
  /** Whether it ended without a failure or disruption. */
  readonly isClean: boolean;
  /** Whether people want to know of it all the same. */
  readonly isNews?: boolean;
  readonly infra: Infra;
}

/** Reasons other than the image why containers cannot start. */
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
/** Problems that the kubelet reports only as events. */
const EVENT_TROUBLES: ReadonlySet<string> = new Set(['FailedMount', 'FailedAttachVolume', 'FailedCreatePodSandBox']);

/** On a busy node, mounts can fail once and then work. */
const PERSISTENT = 3;

/** Returns the notices for a pod that has not ended. */
export function podNotices(pod: Pod): PodNotice[] {
  const name = pod.metadata.name;
  const notices: PodNotice[] = [];
  const scheduling = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduling?.status === 'False' && scheduling.reason === 'Unschedulable') {
    // The number of nodes changes, but the reason is the same.
    notices.push({
      key: `place ${withoutNumbers(scheduling.message ?? '')}`,
      of: 'batch',
      infra: {
        what: 'pod_pending',
        pod: name,
        text: `Pod ${name} is waiting for a node: ${scheduling.message ?? 'no node is free'}`,
      },
    });
  }
  for (const status of containers(pod)) {
    const { reason, message } = status.state?.waiting ?? {};
    if (reason === undefined) continue;
    if (IMAGE_TROUBLES.has(reason)) {
      notices.push({
        key: `image ${status.image}`,
        of: 'batch',
        infra: {
          what: 'pod_image',
          ...at(pod),
          text:
            `Cannot pull image ${status.image} for pod ${name} (${reason}): ` +
            (message ?? 'the cluster gave no reason'),
        },
      });
    } else if (START_TROUBLES.has(reason)) {
      notices.push({
        key: `start ${status.name} ${reason}`,
        of: 'batch',
        infra: {
          what: 'pod_start',
          ...at(pod),
          text:
            `Container ${status.name} of pod ${name} cannot start (${reason}): ` +
            (message ?? 'the cluster gave no reason'),
        },
      });
    }
  }
  notices.push(...imageNotices(pod));
  const started = startOf(pod);
  if (started !== undefined) {
    const ms = Math.max(0, started - Date.parse(pod.metadata.creationTimestamp ?? ''));
    notices.push({
      key: 'started',
      of: 'pod',
      infra: {
        what: 'pod_started',
        ...at(pod),
        ...(Number.isFinite(ms) ? { ms } : {}),
        text:
          `Pod ${name} ` +
          `started${onNode(pod)}${Number.isFinite(ms) ? `, ${Math.round(ms / 1000)} s after its creation` : ''}.`,
      },
    });
  }
  return notices;
}

/** Returns what the containers of a pod run: once for each image of a batch, and again if a name leads to another. */
function imageNotices(pod: Pod): PodNotice[] {
  const specified = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
  return containers(pod).flatMap(({ name, imageID, state }) => {
    const named = specified.find((container) => container.name === name)?.image;
    if (named === undefined || imageID === '' || state?.running === undefined) return [];
    const image = withDigest(named, imageID);
    return [
      {
        key: `runs ${name} ${imageID}`,
        of: 'batch',
        infra: {
          what: 'pod_runs',
          text:
            image === undefined
              ? `Container ${name} runs ${named} (${imageID} on its node). It has no digest of a registry, so other ` +
                'nodes may have another image of this name.'
              : `Container ${name} runs ${image}.`,
        },
      },
    ];
  });
}

/** Returns the pinned image that a node cannot pull, if any. */
export function unpullable(pod: Pod): string | undefined {
  return containers(pod).find(({ image, state }) => state?.waiting?.reason === 'ImagePullBackOff' && hasDigest(image))
    ?.image;
}

/** Returns the notices for a cluster event about a pod. */
export function podEventNotices(pod: Pod, event: KubeEvent): PodNotice[] {
  const { reason = '', message = '' } = event;
  const name = pod.metadata.name;
  if (reason === 'Pulling')
    return [
      {
        key: message,
        of: 'batch',
        infra: { what: 'pod_pulling', ...at(pod), text: `Pod ${name} is pulling its image: ${message}` },
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

/** Returns the notices for an event about a Job whose pods cannot be created. */
export function jobEventNotices(event: KubeEvent): PodNotice[] {
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
            'The namespace has reached its quota, so pods wait until other pods end: ' +
            message.slice(message.indexOf('exceeded quota')),
        },
      },
    ];
  }
  // The name of the pod differs in each try.
  const why = message.replace(/^Error creating: (pods "[^"]*" is forbidden: )?/, '');
  const hint = why.includes('must specify')
    ? ' (set them with `pods.requests` and `pods.limits` in the batch file)'
    : '';
  return [
    {
      key: `create ${withoutNumbers(why)}`,
      of: 'batch',
      infra: {
        what: 'pod_refused',
        text: `Cannot create pods for ${event.involvedObject.name ?? 'the Job'}: ${why}${hint}`,
      },
    },
  ];
}

/** Returns how a pod ended; undefined if it has not. `gone`: it was deleted. */
export function podEnd(pod: Pod, gone = false): PodEnd | undefined {
  const end = causeOfEnd(pod, gone);
  const { exitCode } = workerEnd(pod) ?? {};
  if (end === undefined || exitCode !== HANDED_OVER_EXIT) return end;
  const text = `${sentence(end.infra.text)} It handed its rollouts over.`;
  return { isClean: true, isNews: true, infra: { ...end.infra, what: 'pod_handover', text } };
}

function workerEnd(pod: Pod): NonNullable<ContainerStatus['state']>['terminated'] {
  return pod.status?.containerStatuses?.find(({ name }) => name === WORKER)?.state?.terminated;
}

function causeOfEnd(pod: Pod, gone: boolean): PodEnd | undefined {
  const { phase, reason, message } = pod.status ?? {};
  const worker = workerEnd(pod);
  if (!gone && worker === undefined && phase !== 'Succeeded' && phase !== 'Failed') return undefined;
  const name = pod.metadata.name;
  const ended = (what: string, text: string): PodEnd => ({ isClean: false, infra: { what, ...at(pod), text } });
  // The worker ends with them.
  const tools = pod.status?.initContainerStatuses?.find(({ name: named }) => named === TOOLS);
  const ends = [worker, ...(worker?.exitCode === 0 ? [] : [tools?.state?.terminated, tools?.lastState?.terminated])];
  if (ends.some((end) => end?.reason === 'OOMKilled')) {
    return ended(
      'pod_oom',
      `Pod ${name} was killed${onNode(pod)} because it exceeded its memory limit (OOMKilled). Increase ` +
        '`pods.limits.memory`, or increase `pods.count` to run fewer rollouts per pod.',
    );
  }
  if (worker?.exitCode === 0)
    return { isClean: true, infra: { what: 'pod_ended', ...at(pod), text: `Pod ${name} ended.` } };
  const disrupted = pod.status?.conditions?.find(
    ({ type, status }) => type === 'DisruptionTarget' && status === 'True',
  );
  if (disrupted !== undefined) {
    const what =
      { PreemptionByScheduler: 'pod_preempted', DeletionByTaintManager: 'node_lost', DeletionByPodGC: 'node_lost' }[
        disrupted.reason ?? ''
      ] ?? 'pod_evicted';
    const how = disrupted.reason === 'EvictionByEvictionAPI' ? 'evicted, as when a node is drained,' : 'removed';
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
  if (worker?.exitCode === KILLED_EXIT)
    return ended(
      'pod_failed',
      `The worker of pod ${name} was killed${onNode(pod)} (SIGKILL), by its node or by somebody.`,
    );
  if (worker !== undefined)
    return ended(
      'pod_failed',
      `Pod ${name} ended with exit code ${worker.exitCode}${onNode(pod)}${lastLine(worker.message)}`,
    );
  return ended(
    'pod_failed',
    `Pod ${name} failed${onNode(pod)}${reason === undefined ? '' : ` (${reason})`}: ` +
      (message ?? 'the cluster gave no reason'),
  );
}

/** 128 and the number of the signal. What exceeds its memory limit ends with it, too, and is reported as such. */
const KILLED_EXIT = 137;

/** Returns the notice for a terminating pod whose node does not confirm its end. */
export function stuckNotice(pod: Pod): PodNotice {
  const { name } = pod.metadata;
  const { key, of, infra } = lostNode(pod);
  return {
    key,
    of,
    infra: {
      ...infra,
      ...at(pod),
      text: `Pod ${name} is terminating, but node ${pod.spec?.nodeName ?? ''} does not confirm it. ${giveUpNode(pod)}`,
    },
  };
}

/** How to let a Job replace pods whose end nobody can confirm. */
function giveUpNode({ spec }: Pod): string {
  const node = spec?.nodeName ?? '';
  return (
    'The Job replaces its pods once the node is back. To give up the node, delete it with kubectl delete node ' +
    `${node}, or, if it is to come back, run kubectl taint node ${node} ${OUT_OF_SERVICE}.`
  );
}

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service=nodeshutdown:NoExecute';

/** Whether an event reports an unresponsive node. The cluster sends one for each pod on it. */
export function isSilence(event: KubeEvent): boolean {
  return event.reason === 'NodeNotReady';
}

/** Returns the notice for a lost node, reported once for all pods of the batch there. */
export function lostNode(pod: Pod): PodNotice {
  const node = pod.spec?.nodeName ?? '';
  return {
    key: `node ${node}`,
    of: 'batch',
    infra: {
      what: 'node_lost',
      node,
      text:
        `Node ${node} does not respond. Its rollouts continue in other pods once their lease expires. ` +
        giveUpNode(pod),
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

/** Time and worker of a line of its log. */
const LOG_PREFIX = /^\d{4}-\d\d-\d\dT[\d:.]+Z(?: [\w.-]+:)? /;

function lastLine(log: string | undefined): string {
  const line = (log?.trim().split('\n').at(-1) ?? '').replace(LOG_PREFIX, '').trim();
  return line === '' ? '.' : `: ${line.slice(0, 500)}`;
}

function withoutNumbers(text: string): string {
  return text.replaceAll(/\d+/g, '#');
}
