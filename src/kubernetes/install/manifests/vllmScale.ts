/** Builds what adds and removes replicas of a model by the requests that wait for it. */
import type { KubeObject } from '../../access/objects.ts';
import { NAMES } from '../../names.ts';
import type { VllmOptions } from '../options.ts';
import { object, type Place } from './object.ts';

/**
 * Requests that wait for each replica before another one starts. The server lets only few wait, and holds the other
 * calls back, so a small number already means that there is more to do.
 */
const WAITING = '2';
/** Weights take minutes to load, so replicas stay through short pauses, and leave one at a time. */
const STAY_SECONDS = 600;
const LEAVE_SECONDS = 300;
/** What Prometheus adapters call `vllm:num_requests_waiting`. */
const CUSTOM_METRIC = 'vllm_num_requests_waiting';

const BEHAVIOR = {
  scaleDown: {
    stabilizationWindowSeconds: STAY_SECONDS,
    selectPolicy: 'Max',
    policies: [{ type: 'Pods', value: 1, periodSeconds: LEAVE_SECONDS }],
  },
} as const;

export function autoscaling(options: VllmOptions, namespace: string): KubeObject[] {
  const { autoscale, replicas, maxReplicas = replicas, prometheus } = options;
  const place: Place = { namespace, component: 'vllm' };
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: NAMES.vllm };
  if (autoscale === 'hpa')
    return [
      object('HorizontalPodAutoscaler', NAMES.vllm, place, {
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
    object('ScaledObject', NAMES.vllm, place, {
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
              query: `sum(vllm:num_requests_waiting{namespace="${namespace}",pod=~"${NAMES.vllm}-.+"}) or vector(0)`,
              threshold: WAITING,
            },
          },
        ],
      },
    }),
  ];
}
