/**
 * Hands the number of a model's replicas over between an installation and an autoscaler. Whatever an apply leaves out
 * goes back to its default, and what an autoscaler has set conflicts with an apply.
 */
import { z } from 'zod';
import { FIELD_MANAGER } from '../../access/applying.ts';
import type { Cluster } from '../../access/cluster.ts';
import type { Deployment, KubeObject } from '../../access/objects.ts';
import { type Component, labels, selector } from '../../names.ts';
import { ownOf } from '../outside/kinds.ts';

const SCALERS = ['ScaledObject', 'HorizontalPodAutoscaler'] as const;
const MODELS: readonly Component[] = ['vllm', 'model'];

interface HandoverCall {
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

/**
 * Removes the autoscalers that are not among `objects`, and returns them, before the Deployments are applied: two of
 * them would fight over one, and KEDA refuses a second one.
 */
export async function removeScalers(
  cluster: Cluster,
  objects: readonly KubeObject[],
  { dryRun, signal }: HandoverCall,
): Promise<KubeObject[]> {
  const keep = new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
  const removed: KubeObject[] = [];
  for (const component of MODELS) {
    for (const kind of SCALERS) {
      for (const scaler of await ownOf(cluster, kind, selector(labels(component)), signal)) {
        const { name } = scaler.metadata;
        if (keep.has(`${kind} ${name}`)) continue;
        if (dryRun || (await cluster.remove(kind, name, { signal }))) removed.push(scaler);
      }
    }
  }
  return removed;
}

/**
 * Returns a Deployment as it has to be applied. If its number is left to an autoscaler, the current one stays until it
 * has set another. If not, the number becomes ours again if the autoscaler, which has its name, was `removed`.
 */
export async function withReplicas(
  cluster: Cluster,
  object: KubeObject,
  removed: readonly KubeObject[],
  { dryRun, signal }: HandoverCall,
): Promise<{ readonly object: KubeObject; readonly force: boolean }> {
  const { kind, metadata } = object;
  if (kind !== 'Deployment' || !MODELS.some((component) => isOf(object, component))) return { object, force: false };
  const spec = object['spec'] as Readonly<Record<string, unknown>>; // one that we built
  const existing = await cluster.get('Deployment', metadata.name, { signal });
  const current = existing?.spec?.replicas;
  if (existing === undefined || current === undefined) return { object, force: false };
  if (spec['replicas'] === undefined)
    return {
      object: isNumberOurs(existing) ? { ...object, spec: { ...spec, replicas: current } } : object,
      force: false,
    };
  if (!removed.some((scaler) => scaler.metadata.name === metadata.name) || spec['replicas'] === current)
    return { object, force: false };
  if (dryRun) return { object, force: true };
  await cluster.patch('Deployment', metadata.name, { spec: { replicas: spec['replicas'] } }, { signal });
  return { object, force: false };
}

/** Whether we own the number, so that an apply without it would take it back. */
function isNumberOurs({ metadata }: Deployment): boolean {
  return (metadata.managedFields ?? []).some(
    ({ manager, fieldsV1 }) => manager === FIELD_MANAGER && numberOwner.safeParse(fieldsV1).success,
  );
}

const numberOwner = z.looseObject({ 'f:spec': z.looseObject({ 'f:replicas': z.unknown() }) });

function isOf({ metadata }: KubeObject, component: Component): boolean {
  return Object.entries(labels(component)).every(([name, value]) => metadata.labels?.[name] === value);
}
