/** Builds what adds and removes replicas of a model by the requests that wait for it. */
import type { KubeObject } from '../../access/objects.ts';
import { object, type Place } from '../manifests/object.ts';
import { componentOf, type InstalledModel, objectName } from './models.ts';

/**
 * Requests that wait for each replica before another one starts. The server lets only few wait, and holds the other
 * calls back, so a small number already means that there is more to do.
 */
const WAITING = '2';
/** Weights take minutes to load, so replicas stay through short pauses, and leave one at a time. */
const STAY_SECONDS = 600;
const LEAVE_SECONDS = 300;
/** What follows the name of a Deployment in the names of its pods; not the name of another model. */
const POD = '[a-z0-9]+-[a-z0-9]+';
/** What Prometheus adapters call `vllm:num_requests_waiting`. */
const CUSTOM_METRIC = 'vllm_num_requests_waiting';

const BEHAVIOR = {
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
              query: `sum(vllm:num_requests_waiting{namespace="${namespace}",pod=~"${called}-${POD}"}) or vector(0)`,
              threshold: WAITING,
            },
          },
        ],
      },
    }),
  ];
}
