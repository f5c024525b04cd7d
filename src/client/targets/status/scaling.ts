/** Reports whether the autoscaler of a model does its work. */
import { z } from 'zod';
import { StudioError } from '../../../common/errors.ts';
import type { Cluster } from '../../../kubernetes/access/cluster.ts';
import type { KubeObject } from '../../../kubernetes/access/objects.ts';
import type { VllmOptions } from '../../../kubernetes/install/vllm/options.ts';

export interface Scaling {
  readonly by: 'keda' | 'hpa';
  readonly min: number;
  readonly max: number;
  /** Why it does not work, as a sentence without a period, and what to do. */
  readonly problem?: { readonly text: string; readonly hint: string };
}

const condition = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
});
const withConditions = z.looseObject({
  status: z.looseObject({ conditions: z.array(condition).optional(), hpaName: z.string().optional() }).optional(),
});
type Condition = z.infer<typeof condition>;

/** `name`: that of the Deployment and its autoscaler. Returns undefined if nothing scales the model. */
export async function scalingOf(
  cluster: Cluster,
  name: string,
  { autoscale: by, replicas, maxReplicas }: VllmOptions,
  signal: AbortSignal | undefined,
): Promise<Scaling | undefined> {
  if (by === undefined) return undefined;
  const problem = await (by === 'keda' ? kedaProblem : hpaProblem)(cluster, name, signal);
  return { by, min: replicas, max: maxReplicas ?? replicas, ...(problem === undefined ? {} : { problem }) };
}

async function kedaProblem(
  cluster: Cluster,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Scaling['problem']> {
  const found = await read(() => cluster.get('ScaledObject', name, { signal }));
  const install = 'Install KEDA in the cluster, or pass another --vllm-autoscale to rollout cluster upgrade.';
  if (found === 'unreadable') return undefined;
  if (found === 'unsupported') return { text: 'the cluster has no KEDA, so nothing scales it', hint: install };
  if (found === undefined)
    return { text: `its ScaledObject ${name} is missing`, hint: 'Repair it with rollout cluster upgrade.' };
  const { conditions, hpaName } = found;
  if (conditions.length === 0 || conditions.every(({ status }) => status === 'Unknown'))
    return {
      text: 'KEDA has not taken up its ScaledObject, so nothing scales it',
      hint: `Check that the operator of KEDA runs: kubectl get pods -n keda. ${install}`,
    };
  const described = `kubectl describe scaledobject ${name} -n ${cluster.namespace}`;
  if (is(conditions, 'Paused', 'True'))
    return {
      text: 'KEDA is paused for it, by an annotation of its ScaledObject',
      hint: `See ${described}.`,
    };
  const notReady = conditions.find(({ type, status }) => type === 'Ready' && status === 'False');
  if (notReady !== undefined)
    return { text: `KEDA cannot scale it: ${wordsOf(notReady)}`, hint: `${PROMETHEUS_HINT} See ${described}.` };
  return hpaName === undefined ? undefined : await hpaProblem(cluster, hpaName, signal, PROMETHEUS_HINT);
}

const PROMETHEUS_HINT = 'KEDA asks the Prometheus of --vllm-prometheus: check that its pods reach it.';
const ADAPTER_HINT = 'A Prometheus adapter has to serve the metrics of its pods: see “Autoscaling” in the guide.';

async function hpaProblem(
  cluster: Cluster,
  name: string,
  signal: AbortSignal | undefined,
  hint = ADAPTER_HINT,
): Promise<Scaling['problem']> {
  const found = await read(() => cluster.get('HorizontalPodAutoscaler', name, { signal }));
  if (found === 'unreadable' || found === 'unsupported') return undefined;
  if (found === undefined)
    return {
      text: `its HorizontalPodAutoscaler ${name} is missing`,
      hint: 'Repair it with rollout cluster upgrade.',
    };
  const unable = found.conditions.find(
    ({ type, status, reason }) =>
      (type === 'ScalingActive' || type === 'AbleToScale') && status === 'False' && reason !== 'ScalingDisabled',
  );
  return unable === undefined
    ? undefined
    : {
        text: `its autoscaler cannot scale it: ${wordsOf(unable)}`,
        hint: `${hint} See kubectl describe hpa ${name} -n ${cluster.namespace}.`,
      };
}

/** Reads the state of an autoscaler, as far as the account may. */
async function read(
  get: () => Promise<KubeObject | undefined>,
): Promise<
  | { readonly conditions: readonly Condition[]; readonly hpaName: string | undefined }
  | 'unreadable'
  | 'unsupported'
  | undefined
> {
  try {
    const found = await get();
    if (found === undefined) return undefined;
    const { status } = withConditions.parse(found);
    return { conditions: status?.conditions ?? [], hpaName: status?.hpaName };
  } catch (error) {
    if (StudioError.is(error, 'forbidden')) return 'unreadable';
    if (StudioError.is(error, 'unsupported')) return 'unsupported';
    throw error;
  }
}

function is(conditions: readonly Condition[], type: string, status: string): boolean {
  return conditions.some((each) => each.type === type && each.status === status);
}

function wordsOf({ reason = 'unknown reason', message }: Condition): string {
  return (message ?? '') === '' ? reason : `${message?.replace(/\.$/, '') ?? ''} (${reason})`;
}
