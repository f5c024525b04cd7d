/** Finds a cluster's rollout server and its client tokens, using the user's kubeconfig. */
import { StudioError } from '../../common/errors.ts';
import type { Cluster } from '../../kubernetes/access/cluster.ts';
import type { ContainerStatus, Pod } from '../../kubernetes/access/objects.ts';
import { isReady, isUnresponsive } from '../../kubernetes/access/podReady.ts';
import { findObstacle } from '../../kubernetes/install/ready.ts';
import {
  labels,
  NAMES,
  SERVER_PORT_NAME,
  selector,
  TLS_PORT_NAME,
  TOKEN_KEYS,
  TOKENS_VOLUME,
} from '../../kubernetes/names.ts';
import { crashReason } from './crashReason.ts';

export interface ServerPod {
  readonly name: string;
  readonly port: number;
  /** Its port for TLS; undefined for a server of an earlier version. */
  readonly tlsPort: number | undefined;
  /** The Secret with the tokens. */
  readonly tokens: string;
}

export interface ClientTokens {
  readonly full: string;
  readonly read: string;
}

/** The reason why no pod is ready. */
interface NotReady {
  /** The reason as a sentence. */
  readonly why: string;
  /** Whether the pod will not become ready by itself. */
  readonly stuck: boolean;
  readonly hint: string | undefined;
  /** A pod that was ready when its node last responded, and may still be. */
  readonly unresponsive?: ServerPod;
}

/** Finds the ready pod of the server. Throws StudioError `not_found` if no server is installed. */
export async function findServerPod(cluster: Cluster, signal?: AbortSignal): Promise<ServerPod | NotReady> {
  const pods = await cluster.list('Pod', { labels: selector(labels('server')), signal });
  const live = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const ready = placeOf(live.find(isReady));
  if (ready !== undefined) return ready;
  const deployment = await cluster.get('Deployment', NAMES.server, { signal });
  if (deployment !== undefined) {
    const { text, outlook, hint } = findObstacle(deployment, pods);
    const unresponsive = placeOf(live.find(isUnresponsive));
    return { why: text, stuck: outlook === 'stuck', hint, ...(unresponsive === undefined ? {} : { unresponsive }) };
  }
  throw new StudioError(
    'not_found',
    `No rollout server is installed in namespace ${cluster.namespace} of context ${cluster.context}.`,
    { hint: 'Install it with rollout cluster install.' },
  );
}

/** Reads the tokens in the server's Secret. `name`: that of `ServerPod`. */
export async function serverTokens(
  cluster: Cluster,
  signal?: AbortSignal,
  name: string = NAMES.tokens,
): Promise<ClientTokens> {
  const secret = await cluster.get('Secret', name, { signal });
  const value = (key: string): string =>
    Buffer.from(secret?.data?.[key] ?? '', 'base64')
      .toString('utf8')
      .trim();
  const tokens = { full: value(TOKEN_KEYS.full), read: value(TOKEN_KEYS.read) };
  if (tokens.full !== '' && tokens.read !== '') return tokens;
  throw new StudioError(
    'not_found',
    `The Secret ${name} in namespace ${cluster.namespace} does not contain the server's tokens.`,
    {
      hint:
        name === NAMES.tokens
          ? 'Repair the installation with rollout cluster upgrade.'
          : `Whoever manages it has to add the keys ${TOKEN_KEYS.full} and ${TOKEN_KEYS.read}.`,
    },
  );
}

function placeOf(pod: Pod | undefined): ServerPod | undefined {
  const ports = pod?.spec?.containers.flatMap((container) => container.ports ?? []) ?? [];
  const portOf = (wanted: string) => ports.find(({ name }) => name === wanted)?.containerPort;
  const port = portOf(SERVER_PORT_NAME);
  if (pod === undefined || port === undefined) return undefined;
  const volume = pod.spec?.volumes?.find(({ name }) => name === TOKENS_VOLUME);
  const tlsPort = portOf(TLS_PORT_NAME);
  return { name: pod.metadata.name, port, tlsPort, tokens: volume?.secret?.secretName ?? NAMES.tokens };
}

/** Waiting reasons that resolve by themselves. */
const TRANSIENT = new Set(['ContainerCreating', 'PodInitializing']);

/** Returns why a pod cannot run, in the cluster's words, or undefined if there is no obstacle. */
export function obstacleOf(pod: Pod): string | undefined {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const states = statuses.map(({ state }) => state);
  const crashed = statuses.find(isCrashing)?.lastState?.terminated;
  const waiting = states.find(
    (state) => state?.waiting !== undefined && !TRANSIENT.has(state.waiting.reason ?? ''),
  )?.waiting;
  const ended = states.find((state) => state?.terminated !== undefined && state.terminated.exitCode !== 0)?.terminated;
  const unscheduled = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  const why =
    (crashed === undefined ? undefined : { reason: 'keeps crashing', message: endText(crashed) }) ??
    waiting ??
    (ended === undefined ? undefined : { reason: ended.reason, message: endText(ended) }) ??
    unscheduled;
  if (why === undefined) return undefined;
  return (
    `pod ${pod.metadata.name}: ` +
    [why.reason, why.message].filter((text) => text !== undefined && text !== '').join(': ')
  );
}

/** Whether a container of the pod ends again and again. */
export function keepsCrashing(pod: Pod): boolean {
  return (pod.status?.containerStatuses ?? []).some(isCrashing);
}

function isCrashing({ state }: ContainerStatus): boolean {
  return state?.waiting?.reason === 'CrashLoopBackOff';
}

/** Returns why a container ended: in its own words, or with its exit code. */
function endText({ reason, message = '', exitCode }: { reason?: string; message?: string; exitCode: number }): string {
  return crashReason(message) ?? (reason === 'OOMKilled' ? 'out of memory' : `exit code ${exitCode}`);
}
