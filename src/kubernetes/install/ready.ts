/** Waits until the server's Deployment is ready, and reports why it is not. */

import { sleep } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';
import { sentence } from '../../common/text.ts';
import { readyLine } from '../../protocol/serverFile.ts';
import type { Cluster } from '../access/cluster.ts';
import type { ContainerStatus, Deployment, Pod } from '../access/objects.ts';
import { isUnresponsive } from '../access/podReady.ts';
import { DESCRIBE_SERVER, labels, NAMES, selector, VERSION_ANNOTATION } from '../names.ts';

const POLL_MS = 500;
/** An obstacle that may go away ends the wait only after this time. */
const PATIENCE_MS = 10_000;
const LOG_LINES = 5;

interface Readiness {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called when the obstacle changes. */
  readonly note: (text: string) => void;
}

/** Why a server is not ready. */
interface Obstacle {
  readonly text: string;
  /** `wait`: it is in progress; `patience`: it may recover; `stuck`: waiting does not help. */
  readonly outlook: 'wait' | 'patience' | 'stuck';
  readonly hint?: string;
  /** The pod whose log has more details. */
  readonly pod?: Pod;
}

/** Throws StudioError `unavailable` with the reason if the server does not become ready. */
export async function waitUntilReady(cluster: Cluster, waiting: Readiness): Promise<void> {
  const { signal } = waiting;
  const until = performance.now() + waiting.timeoutMs;
  let lastNote = '';
  let since = performance.now();
  for (;;) {
    const obstacle = await currentObstacle(cluster, signal).catch(serverDown);
    if (obstacle === undefined) return;
    if (obstacle.text !== lastNote) {
      lastNote = obstacle.text;
      since = performance.now();
      waiting.note(obstacle.text);
    }
    const now = performance.now();
    if (obstacle.outlook === 'stuck' || (obstacle.outlook === 'patience' && now - since > PATIENCE_MS) || now > until)
      throw await failure(cluster, obstacle, signal);
    await sleep(POLL_MS, signal);
  }
}

/** Returns what the server waits for, or undefined if it is ready. */
async function currentObstacle(cluster: Cluster, signal: AbortSignal): Promise<Obstacle | undefined> {
  const deployment = await cluster.get('Deployment', NAMES.server, { signal });
  if (deployment === undefined)
    throw new StudioError('gone', `The Deployment ${NAMES.server} was removed during the wait.`);
  if (isReady(deployment)) return undefined;
  return findObstacle(deployment, await cluster.list('Pod', { labels: selector(labels('server')), signal }));
}

/** Returns a short outage of the API server as an obstacle; rethrows everything else. */
function serverDown(error: unknown): Obstacle {
  if (StudioError.is(error, 'unavailable'))
    return { text: error.message, outlook: 'wait', ...(error.hint === undefined ? {} : { hint: error.hint }) };
  throw error;
}

/** Returns whether all pods are those of the newest manifest, and serve. */
export function isReady({ metadata, spec, status }: Deployment): boolean {
  const replicas = spec?.replicas ?? 1;
  return (
    (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0) &&
    status?.updatedReplicas === replicas &&
    status.availableReplicas === replicas &&
    status.replicas === replicas
  );
}

/** Returns why a Deployment is not ready. */
export function findObstacle(deployment: Deployment, pods: readonly Pod[]): Obstacle {
  if (deployment.spec?.replicas === 0) {
    return {
      text: 'The server is scaled to 0, so it does not run.',
      outlook: 'stuck',
      hint:
        `Start it with kubectl scale deployment ${deployment.metadata.name} --replicas=1 -n ` +
        (deployment.metadata.namespace ?? 'default'),
    };
  }
  const failed = deployment.status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  const version = deployment.spec?.template.metadata?.annotations?.[VERSION_ANNOTATION];
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
        text: `The cluster creates no pod: ${failed.message ?? failed.reason ?? 'no reason given'}`,
        outlook: 'patience',
        hint:
          failed.message?.includes('exceeded quota') === true
            ? 'Free some of the quota or have it raised, then install again.'
            : 'Fix that and install again.',
      };
    return {
      text: pods.length > 0 ? 'The server’s old pod is shutting down.' : 'The server’s pod is being created.',
      outlook: 'wait',
    };
  }
  for (const status of [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]) {
    const found = containerObstacle(pod, status);
    if (found !== undefined) return found;
  }
  const unscheduled = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  if (unscheduled !== undefined)
    return {
      text: `No node accepts the server’s pod: ${unscheduled.message ?? unscheduled.reason ?? ''}`,
      outlook: 'wait',
      hint: `Check ${DESCRIBE_SERVER}. A frequent reason is storage that no class provides (--storage).`,
    };
  if (isUnresponsive(pod))
    return {
      text: `Node ${pod.spec?.nodeName ?? ''}, which runs the server’s pod, does not respond.`,
      outlook: 'wait',
      hint: 'Check kubectl get nodes.',
    };
  if (pod.status?.phase === 'Running') return { text: 'The server is starting.', outlook: 'wait', pod };
  return { text: 'The server’s pod is being set up.', outlook: 'wait', pod };
}

function containerObstacle(pod: Pod, status: ContainerStatus): Obstacle | undefined {
  const waiting = status.state?.waiting;
  const message = waiting?.message ?? '';
  switch (waiting?.reason) {
    case 'ErrImagePull':
      return {
        text: `Cannot pull the image ${status.image}: ${message}`,
        outlook: 'patience',
        hint: IMAGE_HINT,
      };
    case 'ImagePullBackOff':
    case 'ErrImageNeverPull':
    case 'InvalidImageName':
      return { text: `Cannot pull the image ${status.image}: ${message}`, outlook: 'stuck', hint: IMAGE_HINT };
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
    case 'RunContainerError':
      return {
        text: `The server’s container cannot start: ${message}`,
        outlook: 'patience',
        hint: 'Fix that and install again.',
      };
    case 'CrashLoopBackOff':
      return { text: crashText(status), outlook: 'stuck', pod };
    default:
      return status.state?.terminated !== undefined && status.state.terminated.exitCode !== 0
        ? { text: crashText(status), outlook: 'patience', pod }
        : undefined;
  }
}

const IMAGE_HINT =
  'Name an image that the nodes can pull with --image (anything with Node 22.19 or newer), and the Secret of its ' +
  'registry with --pull-secret.';

function crashText({ state, lastState }: ContainerStatus): string {
  const ended = state?.terminated ?? lastState?.terminated;
  return (
    'The server ends as soon as it starts ' +
    `(${ended?.reason === 'OOMKilled' ? 'out of memory' : `exit code ${String(ended?.exitCode ?? 'unknown')}`}).`
  );
}

/** Returns the error, with the end of the server's log if it has one. */
async function failure(cluster: Cluster, { text, hint, pod }: Obstacle, signal: AbortSignal): Promise<StudioError> {
  const log = pod === undefined ? undefined : await endOfLog(cluster, pod.metadata.name, signal);
  return new StudioError(
    'unavailable',
    `The server is not ready: ${sentence(text)}${log === undefined ? '' : ` Its log: ${sentence(log.text)}`}`,
    {
      hint: hint ?? log?.hint ?? `Check kubectl logs deployment/${NAMES.server} -n ${cluster.namespace}.`,
    },
  );
}

interface LogEnd {
  readonly text: string;
  readonly hint?: string | undefined;
}

async function endOfLog(cluster: Cluster, pod: string, signal: AbortSignal): Promise<LogEnd | undefined> {
  const options = { container: 'server', tail: LOG_LINES, signal };
  const log = (await cluster.log(pod, options)) ?? '';
  return readLogEnd(log.trim() === '' ? ((await cluster.log(pod, { ...options, previous: true })) ?? '') : log);
}

/** Reads the end of a log: the reason that the server reports for its end, or else all of it in one line. */
export function readLogEnd(log: string): LogEnd | undefined {
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

/** Returns the message of a line of the server's JSON log. */
function loggedText(line: string): string | undefined {
  const raw = jsonOf(line);
  return typeof raw === 'object' && raw !== null && 'message' in raw && typeof raw.message === 'string'
    ? raw.message
    : undefined;
}
