/**
 * Checks a target: whether it is reachable, what is running, and which resources are available. Reads everything with
 * the user's kubeconfig. What the user cannot read is reported as such and does not affect the other findings.
 */

import { StudioError } from '../../common/errors.ts';
import { PRODUCT } from '../../common/product.ts';
import { plural } from '../../common/text.ts';
import { Cluster } from '../../kubernetes/access/cluster.ts';
import type { InstallOptions } from '../../kubernetes/install/options.ts';
import { DESCRIBE_SERVER, NAMES } from '../../kubernetes/names.ts';
import type { Api } from '../../protocol/api.ts';
import type { ServerInfo } from '../../protocol/client.ts';
import { placed } from '../text/placed.ts';
import { connectTarget } from './connectTarget.ts';
import { forOwner, type TargetFinding, trouble } from './status/finding.ts';
import { accessFinding, objectsFinding, readInstallation, serverRightsFinding } from './status/installation.ts';
import { modelFindings } from './status/models.ts';
import { outsideFindings } from './status/outside.ts';
import { resourceFindings } from './status/resources.ts';
import { admissionFinding, podSecurityFinding } from './status/security.ts';
import { webSocketFindings } from './status/webSockets.ts';
import { workerPodFindings } from './status/workerPod.ts';
import { clusterRef, type Target, targetPlace } from './target.ts';

export interface TargetStatus {
  readonly target: string;
  readonly place: string;
  readonly findings: readonly TargetFinding[];
}

interface StatusOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Whether to start a pod that tries the way to the server. */
  readonly probe?: boolean;
  readonly signal?: AbortSignal;
}

/** A larger clock skew can invalidate tokens and certificates. */
const MAX_SKEW_SECONDS = 30;
const CONNECT_TIMEOUT_MS = 20_000;
const MAX_BATCHES = 200;

/** Reports failures as findings. Throws only if it is cancelled. */
export async function targetStatus(name: string, target: Target, options: StatusOptions): Promise<TargetStatus> {
  const place = targetPlace(target);
  if ('url' in target) return { target: name, place, findings: await serverFindings(name, target, options) };
  let cluster: Cluster | undefined;
  try {
    cluster = await Cluster.open(clusterRef(name, target));
    const clusterResults = await clusterFindings(cluster, options.signal);
    const [server, installed, resources] = await Promise.all([
      serverFindings(name, target, options),
      installationFindings(cluster, options.signal),
      resourceFindings(cluster, options.signal),
    ]);
    const isUp = server.some((finding) => finding.name === 'server' && finding.state === 'ok');
    const { options: installOptions } = installed;
    const pods =
      installOptions === undefined
        ? []
        : (
            await Promise.all([
              workerPodFindings(
                cluster,
                { options: installOptions, isUp, probe: options.probe === true },
                options.signal,
              ),
              modelFindings(cluster, installOptions, options.signal),
              outsideFindings(cluster, installOptions, options.signal),
            ])
          ).flat();
    const installation = reconciled(installed.findings, server);
    const findings = [
      ...clusterResults,
      ...server.filter((finding) => finding.name !== 'objects'),
      ...[...installation, ...pods, ...resources],
    ];
    return {
      target: name,
      place,
      findings: findings.map((finding) => completed(forOwner(finding, installed.owner), name, target)),
    };
  } catch (error) {
    options.signal?.throwIfAborted();
    return { target: name, place, findings: [trouble('cluster', error)] };
  } finally {
    cluster?.close();
  }
}

/** Returns a finding whose commands reach the target. */
function completed(finding: TargetFinding, name: string, target: Target): TargetFinding {
  const { hint, text } = finding;
  return {
    ...finding,
    text: placed(text, name, target),
    ...(hint === undefined ? {} : { hint: placed(hint, name, target) }),
  };
}

interface Installed {
  readonly findings: readonly TargetFinding[];
  /** undefined if nothing is installed, or if that could not be read. */
  readonly options?: InstallOptions;
  /** The GitOps tool that keeps the installation. */
  readonly owner?: string | undefined;
}

async function installationFindings(cluster: Cluster, signal: AbortSignal | undefined): Promise<Installed> {
  try {
    const inspected = await readInstallation(cluster, signal);
    if (inspected === undefined) return { findings: [] };
    const rights = await Promise.all([serverRightsFinding(cluster, inspected, signal), accessFinding(cluster, signal)]);
    return { findings: [objectsFinding(inspected), ...rights], options: inspected.options, owner: inspected.owner };
  } catch (error) {
    signal?.throwIfAborted();
    return { findings: [trouble('objects', error)] };
  }
}

/** Where the user may not read everything, what the server sees of its own installation counts. */
function reconciled(findings: readonly TargetFinding[], server: readonly TargetFinding[]): TargetFinding[] {
  const seen = server.find(({ name }) => name === 'objects');
  if (seen === undefined || findings.every(({ state }) => state !== 'unknown')) return [...findings];
  return [...findings.filter(({ name, state }) => name !== 'objects' || state === 'wrong'), seen];
}

async function clusterFindings(cluster: Cluster, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  const { git, skewSeconds } = await cluster.version(signal);
  const { context, server, namespace } = cluster;
  const finding: TargetFinding = {
    name: 'cluster',
    state: 'ok',
    text: `Kubernetes ${git} at ${server}, namespace ${namespace}`,
    data: { version: git, server, context, namespace },
  };
  const findings = [finding, ...(await namespaceFindings(cluster, signal))];
  if (skewSeconds === undefined || Math.abs(skewSeconds) <= MAX_SKEW_SECONDS) return findings;
  const text =
    `the clock of the cluster is ${Math.round(Math.abs(skewSeconds))} s ${skewSeconds > 0 ? 'behind' : 'ahead of'} ` +
    'the local clock';
  return [
    ...findings,
    {
      name: 'clock',
      state: 'wrong',
      text,
      hint: 'Synchronize the clocks with NTP. Otherwise, tokens and certificates can be invalid.',
      data: { skew_seconds: skewSeconds },
    },
  ];
}

/** Reports on the namespace, or nothing if the user cannot read namespaces. */
async function namespaceFindings(cluster: Cluster, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  try {
    const namespace = await cluster.get('Namespace', cluster.namespace, { signal });
    if (namespace !== undefined) return [podSecurityFinding(namespace), ...(await admissionFinding(cluster, signal))];
    return [
      {
        name: 'namespace',
        state: 'missing',
        text: `the namespace ${cluster.namespace} does not exist`,
        hint: 'Create it with rollout cluster install --create-namespace.',
      },
    ];
  } catch (error) {
    if (StudioError.is(error, 'forbidden')) return [];
    throw error;
  }
}

/** Connects like every command, but waits less for a server that is starting. */
async function serverFindings(name: string, target: Target, { env, signal }: StatusOptions): Promise<TargetFinding[]> {
  const limit = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  let waiting: string | undefined;
  try {
    const connection = await connectTarget(name, target, {
      env,
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      onNotice: (text) => {
        waiting = text;
      },
    });
    try {
      const findings = await queryServer(connection.api, signal);
      // Gateways may let requests pass, and no WebSockets.
      return 'url' in target ? [...findings, ...(await webSocketFindings(connection, limit))] : findings;
    } finally {
      connection.close();
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (StudioError.is(error, 'not_found')) return [{ ...trouble('server', error), state: 'missing' }];
    if (limit.aborted)
      return [
        {
          name: 'server',
          state: 'wrong',
          text: waiting ?? `no response within ${CONNECT_TIMEOUT_MS / 1000} s`,
          hint:
            'url' in target
              ? 'Check that the server is running and reachable from this machine.'
              : `Check its pod with ${DESCRIBE_SERVER}, and its log with kubectl logs deployment/${NAMES.server}.`,
        },
      ];
    return [trouble('server', error)];
  }
}

async function queryServer(api: Api, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  const [server, { batches }] = await Promise.all([api.server(signal), api.batches({ limit: MAX_BATCHES }, signal)]);
  const open = batches.filter(({ state }) => state !== 'ended');
  const running = open.filter(({ counts }) => counts.running + counts.held > 0).length;
  const { product, running: attempts, held, queued, workers } = server;
  const data = {
    batches: { running, queued: open.length - running },
    running: attempts,
    held,
    queued,
    workers: workers.length,
  };
  return [
    {
      name: 'server',
      state: 'ok',
      text: `${product}${product === PRODUCT ? '' : `; this client is ${PRODUCT}`}`,
      data: { product },
    },
    ...(server.you === undefined ? [] : [userFinding(server.you)]),
    ...(server.troubles ?? []).map((text): TargetFinding => ({ name: 'objects', state: 'wrong', text })),
    {
      name: 'queue',
      state: 'ok',
      text:
        `batches: ${running} running, ${open.length - running} queued; attempts: ${attempts} running, ${held} ` +
        `held, ${queued} queued; ${plural(workers.length, 'worker')}`,
      data,
    },
  ];
}

/** Says as whom the user is connected, and with which rights. */
export function userFinding({ user, rights }: NonNullable<ServerInfo['you']>): TargetFinding {
  return {
    name: 'user',
    state: 'ok',
    text: `${user ?? 'a client token'}; rights: ${rights.join(', ')}`,
    data: { ...(user === undefined ? {} : { user }), rights },
  };
}
