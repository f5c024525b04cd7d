/** Waits until the server's Deployment is ready, and says why it is not. */

import { sleep } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';
import { sentence } from '../../common/text.ts';
import { readyLine } from '../../protocol/serverFile.ts';
import type { Cluster } from '../access/cluster.ts';
import type { ContainerStatus, Deployment, Pod } from '../access/objects.ts';
import { isUnheard } from '../access/podReady.ts';
import { labels, NAMES, selector, VERSION_ANNOTATION } from '../names.ts';

const POLL_MS = 500;
/** What may recover is told, and given up only after so long. */
const PATIENCE_MS = 10_000;
const LOG_LINES = 5;

export interface Readiness {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called when what is waited for changes. */
  readonly note: (text: string) => void;
}

/** Why a server is not ready. */
interface Obstacle {
  readonly text: string;
  /** `wait`: it is on its way; `patience`: it may recover; `stuck`: nothing will change by waiting. */
  readonly hope: 'wait' | 'patience' | 'stuck';
  readonly hint?: string;
  /** The pod whose log says more. */
  readonly pod?: Pod;
}

/** Throws StudioError `unavailable` with the reason when the server does not come. */
export async function waitUntilReady(cluster: Cluster, waiting: Readiness): Promise<void> {
  const { signal } = waiting;
  const until = performance.now() + waiting.timeoutMs;
  let shown = '';
  let since = performance.now();
  for (;;) {
    const obstacle = await look(cluster, signal).catch(away);
    if (obstacle === undefined) return;
    if (obstacle.text !== shown) {
      shown = obstacle.text;
      since = performance.now();
      waiting.note(obstacle.text);
    }
    const now = performance.now();
    if (obstacle.hope === 'stuck' || (obstacle.hope === 'patience' && now - since > PATIENCE_MS) || now > until)
      throw await failure(cluster, obstacle, signal);
    await sleep(POLL_MS, signal);
  }
}

/** undefined: it is ready. */
async function look(cluster: Cluster, signal: AbortSignal): Promise<Obstacle | undefined> {
  const deployment = await cluster.get('Deployment', NAMES.server, { signal });
  if (deployment === undefined) throw new StudioError('gone', `The Deployment ${NAMES.server} was removed meanwhile.`);
  if (isReady(deployment)) return undefined;
  return findObstacle(deployment, await cluster.list('Pod', { labels: selector(labels('server')), signal }));
}

/** An API server that is away for a moment comes back. */
function away(error: unknown): Obstacle {
  if (StudioError.is(error, 'unavailable'))
    return { text: error.message, hope: 'wait', ...(error.hint === undefined ? {} : { hint: error.hint }) };
  throw error;
}

/** Whether all pods are those of the newest manifest, and serve. */
export function isReady({ metadata, spec, status }: Deployment): boolean {
  const wanted = spec?.replicas ?? 1;
  return (
    (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0) &&
    status?.updatedReplicas === wanted &&
    status.availableReplicas === wanted &&
    status.replicas === wanted
  );
}

/** What stands between the Deployment and being ready. */
export function findObstacle(deployment: Deployment, pods: readonly Pod[]): Obstacle {
  const failed = deployment.status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  const version = deployment.spec?.template?.metadata?.annotations?.[VERSION_ANNOTATION];
  const alive = pods.filter(
    ({ metadata }) =>
      metadata.deletionTimestamp === undefined && metadata.annotations?.[VERSION_ANNOTATION] === version,
  );
  const [pod] = alive.sort((a, b) =>
    (a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1,
  );
  if (pod === undefined) {
    if (failed !== undefined)
      return {
        text: `The cluster makes no pod: ${failed.message ?? failed.reason ?? 'no reason given'}`,
        hope: 'patience',
        hint:
          failed.message?.includes('exceeded quota') === true
            ? 'Free some of the quota or have it raised; then run it again.'
            : 'Fix that and run it again.',
      };
    return {
      text: pods.length > 0 ? 'The server’s old pod is to end.' : 'The server’s pod is being made.',
      hope: 'wait',
    };
  }
  for (const status of [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]) {
    const found = containerObstacle(pod, status);
    if (found !== undefined) return found;
  }
  const unscheduled = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  if (unscheduled !== undefined)
    return {
      text: `No node takes the server’s pod: ${unscheduled.message ?? unscheduled.reason ?? ''}`,
      hope: 'wait',
      hint: 'See kubectl describe pod; storage that no class provides is a frequent reason (--storage).',
    };
  if (isUnheard(pod))
    return {
      text: `The cluster hears nothing of node ${pod.spec?.nodeName ?? ''}, where the server’s pod is.`,
      hope: 'wait',
      hint: 'See kubectl get nodes.',
    };
  if (pod.status?.phase === 'Running') return { text: 'The server starts.', hope: 'wait', pod };
  return { text: 'The server’s pod is being set up.', hope: 'wait', pod };
}

function containerObstacle(pod: Pod, status: ContainerStatus): Obstacle | undefined {
  const waiting = status.state?.waiting;
  const message = waiting?.message ?? '';
  switch (waiting?.reason) {
    case 'ErrImagePull':
      return {
        text: `The image ${status.image ?? ''} cannot be pulled: ${message}`,
        hope: 'patience',
        hint: IMAGE_MEND,
      };
    case 'ImagePullBackOff':
    case 'ErrImageNeverPull':
    case 'InvalidImageName':
      return { text: `The image ${status.image ?? ''} cannot be pulled: ${message}`, hope: 'stuck', hint: IMAGE_MEND };
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
    case 'RunContainerError':
      return {
        text: `The server’s container cannot start: ${message}`,
        hope: 'patience',
        hint: 'Fix that and run it again.',
      };
    case 'CrashLoopBackOff':
      return { text: crashText(status), hope: 'stuck', pod };
    default:
      return status.state?.terminated !== undefined && status.state.terminated.exitCode !== 0
        ? { text: crashText(status), hope: 'patience', pod }
        : undefined;
  }
}

const IMAGE_MEND =
  'Name an image the nodes can have with --image (anything with Node 22.19 or newer), and the Secret of its ' +
  'registry with --pull-secret.';

function crashText({ state, lastState }: ContainerStatus): string {
  const ended = state?.terminated ?? lastState?.terminated;
  return (
    'The server ends as soon as it starts ' +
    `(${ended?.reason === 'OOMKilled' ? 'out of memory' : `exit code ${String(ended?.exitCode ?? 'unknown')}`}).`
  );
}

/** The error, with the last words of the server where it had a chance to say something. */
async function failure(cluster: Cluster, { text, hint, pod }: Obstacle, signal: AbortSignal): Promise<StudioError> {
  const said = pod === undefined ? undefined : await lastWords(cluster, pod.metadata.name, signal);
  return new StudioError(
    'unavailable',
    `The server is not ready: ${sentence(text)}${said === undefined ? '' : ` It says: ${sentence(said.text)}`}`,
    {
      hint: hint ?? said?.hint ?? `See kubectl logs deployment/${NAMES.server} -n ${cluster.namespace}.`,
    },
  );
}

interface Words {
  readonly text: string;
  readonly hint?: string | undefined;
}

async function lastWords(cluster: Cluster, pod: string, signal: AbortSignal): Promise<Words | undefined> {
  const options = { container: 'server', tail: LOG_LINES, signal };
  const log = (await cluster.log(pod, options)) ?? '';
  return wordsOf(log.trim() === '' ? ((await cluster.log(pod, { ...options, previous: true })) ?? '') : log);
}

/** What the end of a log says: the reason the server gives for its end, or else all of it in one line. */
export function wordsOf(log: string): Words | undefined {
  const lines = log
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  for (const line of lines) {
    const parsed = readyLine.safeParse(jsonOf(line));
    if (parsed.data?.type === 'failed') return { text: parsed.data.message, hint: parsed.data.hint };
    if (parsed.data?.type === 'taken') return { text: parsed.data.message };
  }
  return lines.length === 0 ? undefined : { text: lines.map((line) => loggedText(line) ?? line).join(' / ') };
}

/** What a line of the server's own log says. */
function loggedText(line: string): string | undefined {
  const raw = jsonOf(line);
  return typeof raw === 'object' && raw !== null && 'message' in raw && typeof raw.message === 'string'
    ? raw.message
    : undefined;
}
