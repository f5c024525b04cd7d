/** Parts of the pods of an installation. */
import type { Placement } from '../../../config/schema/placement.ts';
import type { KubeObject } from '../../access/objects.ts';
import { spreadOf } from '../../placement.ts';
import { CONTAINER_SECURITY, USER } from '../../security/podSecurity.ts';
import { object, type Place } from './object.ts';

/** Returns an init container that makes our user the owner of a node's folder, which the kubelet created as root. */
export function folderOwner(
  image: string,
  pullPolicy: string,
  volume: string,
  folder: string,
): Readonly<Record<string, unknown>> {
  return {
    name: 'owner',
    image,
    imagePullPolicy: pullPolicy,
    command: ['node', '-e', `require('node:fs').chownSync(${JSON.stringify(folder)}, ${USER}, ${USER})`],
    // Within what the pod requests anyway.
    resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '256Mi' } },
    securityContext: {
      ...CONTAINER_SECURITY,
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      capabilities: { drop: ['ALL'], add: ['CHOWN'] },
    },
    volumeMounts: [{ name: volume, mountPath: folder }],
  };
}

export function secretEnv(name: string, secret: string, key: string): Readonly<Record<string, unknown>> {
  return { name, valueFrom: { secretKeyRef: { name: secret, key } } };
}

export function fieldEnv(name: string, fieldPath: string): Readonly<Record<string, unknown>> {
  // With the default for the version: both are one field, which two ways to apply it would otherwise dispute.
  return { name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } };
}

/** Returns the fields of a pod's specification that say where it runs. `tolerations`: those that it always has. */
export function placed(
  selected: Readonly<Record<string, string>>,
  pods: Placement = {},
  tolerations: readonly Readonly<Record<string, unknown>>[] = [],
): Readonly<Record<string, unknown>> {
  const { node_selector: nodeSelector, tolerations: more, priority_class: priorityClassName, spread } = pods;
  const all = tolerations.length === 0 ? more : [...tolerations, ...(more ?? [])];
  return {
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    ...(all === undefined ? {} : { tolerations: all }),
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
    ...spreadOf(spread, selected),
  };
}

/** Returns references to Secrets of registries, if there are any. The account's own do not count then. */
export function pullSecrets(...names: readonly (string | undefined)[]): Readonly<Record<string, unknown>> {
  const all = [...new Set(names.filter((name) => name !== undefined))];
  return all.length === 0 ? {} : { imagePullSecrets: all.map((name) => ({ name })) };
}

/**
 * Returns the budget of replicas: a drain takes one of them at a time, and never waits for one that is not ready. A
 * single one may be taken, since nothing but its move would end the drain. Workers have none: the controller cannot
 * count what a Job should have, so a budget would stop every drain, and a worker hands its rollouts over in seconds.
 */
export function disruptionBudget(name: string, place: Place, selected: Readonly<Record<string, string>>): KubeObject {
  return object('PodDisruptionBudget', name, place, {
    spec: {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: selected },
    },
  });
}
