/** Whether pods take requests: what the cluster says, and what their nodes said last. */
import type { Pod } from './objects.ts';

/** Its node says that it is well. */
export function isReady(pod: Pod): boolean {
  return is(pod, 'Ready');
}

/**
 * Its node said last that all its containers are ready, and the cluster took the readiness back: it does so for every
 * pod of a node that it does not hear, and after a long time without API server it has heard of none. The pod may well
 * run.
 */
export function isUnheard(pod: Pod): boolean {
  return !is(pod, 'Ready') && is(pod, 'ContainersReady');
}

function is(pod: Pod, condition: 'Ready' | 'ContainersReady'): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === condition && status === 'True') === true;
}
