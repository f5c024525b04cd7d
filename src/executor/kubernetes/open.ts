/** Opens the executor of a server in a cluster, with the programs for its pods. */

import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import type { Log } from '../../common/log.ts';
import { DEFAULTS } from '../../config/defaults.ts';
import { podsFile, type WorkerPods } from '../../config/schema/placement.ts';
import type { InstalledModels } from '../../config/submission/installed.ts';
import { Cluster } from '../../kubernetes/access/cluster.ts';
import { SliceReplicas } from '../../kubernetes/endpoints/sliceReplicas.ts';
import { ClusterReviewer } from '../../kubernetes/identity/clusterReviewer.ts';
import { OUTBOUND_VARIABLE, workerOutbound } from '../../kubernetes/install/outside/outbound.ts';
import { MODEL_GPUS_VARIABLE, MODELS_VARIABLE, WORKERS_VARIABLE } from '../../kubernetes/names.ts';
import { type Archive, pack } from '../../kubernetes/programs/archive.ts';
import { programFiles, WORKER_PROGRAMS } from '../../kubernetes/programs/collect.ts';
import type { ReplicaSource } from '../../protocol/replicas.ts';
import { servedModels } from '../../protocol/servedModels.ts';
import type { ClusterHost, Executor } from '../executor.ts';
import { KubernetesExecutor } from './kubernetesExecutor.ts';

/** Long enough to start another server, on another node if necessary. */
const RECONNECT_SECONDS = 600;

interface OpenedKubernetes {
  /** The models of the installation: their addresses by name, and those whose GPU time this server can divide. */
  readonly models: {
    readonly addresses: InstalledModels;
    readonly servers: readonly { readonly name: string; readonly namespace: string; readonly gpus: number }[];
  };
  readonly programs: Archive;
  readonly executor: (host: ClusterHost) => Executor;
  /** Creates the source of replicas of model servers in the namespace. */
  readonly replicas: (log: Log) => ReplicaSource;
  /** Starts to ask the cluster for users, and to publish the authority by which they know the server. */
  readonly reviewer: (log: Log) => ClusterReviewer;
}

/**
 * Opens the executor. `environment`: the `ROLLOUT_…` variables that the installation sets in the server's pod;
 * `authority`: the certificate by which workers know the server. Outside a pod, uses the cluster of the kubeconfig.
 */
export async function openKubernetes(
  environment: Readonly<Record<string, string | undefined>>,
  authority?: string,
): Promise<OpenedKubernetes> {
  const namespace = environment['ROLLOUT_NAMESPACE'];
  const { proxy, no_proxy: noProxy = '', ca_file: file } = outboundOf(environment[OUTBOUND_VARIABLE]);
  const [cluster, programs, caBundle] = await Promise.all([
    environment['KUBERNETES_SERVICE_HOST'] === undefined ? Cluster.open({ namespace }) : Cluster.inCluster(),
    programFiles(WORKER_PROGRAMS).then(pack),
    file === undefined ? undefined : readFile(file, 'utf8'),
  ]);
  const outbound = {
    ...(proxy === undefined ? {} : { proxy: { url: proxy, except: noProxy } }),
    ...(caBundle === undefined ? {} : { caBundle }),
  };
  return {
    programs,
    models: modelsIn(environment, cluster.namespace),
    reviewer: (log) => new ClusterReviewer({ cluster, authority, log }),
    replicas: (log) => new SliceReplicas({ cluster, log }),
    executor: (host) =>
      new KubernetesExecutor({
        host,
        cluster,
        programs: programs.sha,
        programSource: environment['ROLLOUT_PROGRAMS'] === 'image' ? 'image' : 'configmaps',
        reconnectSeconds: RECONNECT_SECONDS,
        image: environment['ROLLOUT_IMAGE'] ?? DEFAULTS.pods.image,
        pullPolicy: environment['ROLLOUT_PULL_POLICY'],
        defaults: workerDefaults(environment[WORKERS_VARIABLE]),
        ownPod: environment['ROLLOUT_POD'],
        authority,
        outbound,
      }),
  };
}

/** Reads the models that the installation passes to its server. */
export function modelsIn(
  environment: Readonly<Record<string, string | undefined>>,
  namespace: string,
): OpenedKubernetes['models'] {
  const json = environment[MODELS_VARIABLE];
  const models = json === undefined ? [] : servedModels.parse(JSON.parse(json));
  const isAlone = environment[MODEL_GPUS_VARIABLE] !== undefined;
  return {
    addresses: Object.fromEntries(
      models.flatMap(({ service, port, names }) =>
        names.map((name) => [name, `http://${service}.${namespace}.svc:${port}/v1`]),
      ),
    ),
    servers: isAlone ? models.map(({ service, gpus }) => ({ name: service, namespace, gpus })) : [],
  };
}

function outboundOf(json: string | undefined): z.infer<typeof workerOutbound> {
  return json === undefined ? {} : workerOutbound.parse(JSON.parse(json));
}

/** Returns the settings of pods that the installation has for all batches. */
function workerDefaults(json: string | undefined): WorkerPods | undefined {
  return json === undefined ? undefined : podsFile.parse({ workers: JSON.parse(json) as unknown }).workers;
}
