/** Reports whether the models of an installation serve. */
import type { Cluster } from '../../../kubernetes/access/cluster.ts';
import { isReady } from '../../../kubernetes/access/podReady.ts';
import type { InstallOptions } from '../../../kubernetes/install/options.ts';
import { type InstalledModel, modelLabels, modelsOf, objectName } from '../../../kubernetes/install/vllm/models.ts';
import { servedNames } from '../../../kubernetes/install/vllm/options.ts';
import { selector } from '../../../kubernetes/names.ts';
import { keepsCrashing, obstacleOf } from '../serverPod.ts';
import { type TargetFinding, trouble } from './finding.ts';
import { scalingOf } from './scaling.ts';

/** Returns a finding for each model. */
export async function modelFindings(
  cluster: Cluster,
  options: InstallOptions,
  signal: AbortSignal | undefined,
): Promise<TargetFinding[]> {
  return await Promise.all(
    modelsOf(options).map((model) =>
      modelFinding(cluster, model, signal).catch((error: unknown) => {
        signal?.throwIfAborted();
        return trouble('model', error);
      }),
    ),
  );
}

async function modelFinding(
  cluster: Cluster,
  { name, options }: InstalledModel,
  signal: AbortSignal | undefined,
): Promise<TargetFinding> {
  const [deployment, pods, scaling] = await Promise.all([
    cluster.get('Deployment', objectName(name), { signal }),
    cluster.list('Pod', { labels: selector(modelLabels(name)), signal }),
    scalingOf(cluster, objectName(name), options, signal),
  ]);
  const live = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const ready = live.filter(isReady).length;
  const wanted = deployment?.spec?.replicas ?? options.replicas;
  const served = servedNames(options);
  const data = {
    ...{ model: options.model, served, name: name ?? null, ready, replicas: wanted },
    ...(scaling === undefined ? {} : { autoscale: scaling }),
  };
  const range = scaling === undefined ? '' : ` (autoscaled, ${scaling.min} to ${scaling.max})`;
  const title = `${served.join(', ')}: ${ready} of ${wanted} ${wanted === 1 ? 'replica' : 'replicas'} ready${range}`;
  if (ready > 0)
    return scaling?.problem === undefined
      ? { name: 'model', state: 'ok', text: title, data }
      : {
          name: 'model',
          state: 'missing',
          text: `${title}; ${scaling.problem.text}`,
          hint: scaling.problem.hint,
          data,
        };
  const obstacle = live.map(obstacleOf).find((text) => text !== undefined);
  const log = `kubectl logs deployment/${objectName(name)} -n ${cluster.namespace}`;
  const isFromS3 = options.s3Secret !== undefined && live.some(keepsCrashing);
  return {
    name: 'model',
    state: 'missing',
    text: `${title}${obstacle === undefined ? '' : `; ${obstacle}`}`,
    hint:
      wanted === 0
        ? `Start it with kubectl scale deployment ${objectName(name)} --replicas=1 -n ${cluster.namespace}`
        : obstacle === undefined
          ? `Loading weights takes minutes. Follow it with ${log}.`
          : isFromS3
            ? `Check the bucket, and the keys of the Secret ${options.s3Secret}: each start reads them. See ${log}.`
            : `Calls wait for it. Free what it needs, or change it with rollout cluster upgrade. See ${log}.`,
    data,
  };
}
