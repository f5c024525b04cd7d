/** Whether pods accept requests, by their conditions: the cluster's view, and the last report of their nodes. */
import type { Pod } from './objects.ts';

/** Returns whether the cluster counts the pod as ready. */
export function isReady(pod: Pod): boolean {
  return hasCondition(pod, 'Ready');
}

/**
 * Returns whether all containers were ready when the pod's node reported last, but the cluster no longer counts the pod
 * as ready: it does so for every pod of a node that does not respond, and after a long outage of the API server, that
 * is every node. Such a pod may be running.
 */
export function isUnresponsive(pod: Pod): boolean {
  return !hasCondition(pod, 'Ready') && hasCondition(pod, 'ContainersReady');
}

function hasCondition(pod: Pod, condition: 'Ready' | 'ContainersReady'): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === condition && status === 'True') === true;
}
