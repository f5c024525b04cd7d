/** Builds what adds and removes replicas of a model by the requests that wait for it. */
import type { KubeObject } from '../../access/objects.ts';
import { object, type Place } from '../manifests/object.ts';
import { componentOf, type InstalledModel, objectName } from './models.ts';

/** Calls that wait for each replica before another one starts: in its engine, or in workers, held back for it. */
const WAITING = '2';
/** A batch that begins has more calls than an engine takes before its limit is found; a replica is not for that. */
const RISE_SECONDS = 60;
const ADD_SECONDS = 60;
/** Weights take minutes to load, so replicas stay through short pauses, and leave one at a time. */
const STAY_SECONDS = 600;
const LEAVE_SECONDS = 300;
/** What follows the name of a Deployment in the names of its pods; not the name of another model. */
const POD = '[a-z0-9]+-[a-z0-9]+';
/**
 * What a Prometheus adapter serves for each pod; its rule in the guide adds what the server knows. That is not a metric
 * of its own: without a batch it has no series, and an autoscaler that lacks a metric removes nothing.
 */
const CUSTOM_METRIC = 'vllm_num_requests_waiting';

const BEHAVIOR = {
  scaleUp: {
    stabilizationWindowSeconds: RISE_SECONDS,
    policies: [{ type: 'Pods', value: 1, periodSeconds: ADD_SECONDS }],
  },
  scaleDown: {
    stabilizationWindowSeconds: STAY_SECONDS,
    selectPolicy: 'Max',
    policies: [{ type: 'Pods', value: 1, periodSeconds: LEAVE_SECONDS }],
  },
} as const;

export function autoscaling({ name, options }: InstalledModel, namespace: string): KubeObject[] {
  const { autoscale, replicas, maxReplicas = replicas, prometheus } = options;
  const called = objectName(name);
  const place: Place = { namespace, component: componentOf(name) };
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: called };
  if (autoscale === 'hpa')
    return [
      object('HorizontalPodAutoscaler', called, place, {
        spec: {
          scaleTargetRef,
          minReplicas: replicas,
          maxReplicas,
          metrics: [
            {
              type: 'Pods',
              pods: { metric: { name: CUSTOM_METRIC }, target: { type: 'AverageValue', averageValue: WAITING } },
            },
          ],
          behavior: BEHAVIOR,
        },
      }),
    ];
  if (autoscale === undefined) return [];
  return [
    object('ScaledObject', called, place, {
      spec: {
        scaleTargetRef,
        minReplicaCount: replicas,
        maxReplicaCount: maxReplicas,
        pollingInterval: 15,
        cooldownPeriod: STAY_SECONDS,
        advanced: { horizontalPodAutoscalerConfig: { behavior: BEHAVIOR } },
        triggers: [
          {
            type: 'prometheus',
            metricType: 'AverageValue',
            metadata: {
              serverAddress: prometheus,
              query: demandQuery(namespace, `${called}-${POD}`),
              threshold: WAITING,
            },
          },
        ],
      },
    }),
  ];
}

/**
 * Returns the PromQL of the calls that wait for pods, and at least what keeps as many replicas as the calls fill:
 * without it, one would leave that is needed, and come back.
 */
function demandQuery(namespace: string, pods: string): string {
  const series = (metric: string, label: string): string => `${metric}{namespace="${namespace}",${label}=~"${pods}"}`;
  const sum = (values: string): string => `(sum(${values}) or vector(0))`;
  const inEngines = sum(series('vllm:num_requests_waiting', 'pod'));
  const inWorkers = sum(series('rollout_endpoint_excess_calls', 'replica'));
  // Each server reports the load of all calls, not of its own.
  const filled = sum(`max by (replica) (${series('rollout_endpoint_load_ratio', 'replica')})`);
  return `clamp_min(${inEngines} + ${inWorkers}, ${WAITING} * scalar(${filled}))`;
}
