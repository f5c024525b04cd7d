/** Says how much of what its endpoints take is used, which is what autoscalers of models need to know. */
import { BINDING, type EndpointLimit, type EngineLoad } from './limit.ts';

interface Scaled {
  readonly limit: EndpointLimit;
  readonly load: EngineLoad | undefined;
}

/**
 * Returns the calls that workers hold back because the endpoint takes no more. 0 until it has shown how many it takes,
 * while it is down, and while it has fewer than that: a session does not say which of its endpoints its calls are for.
 * `demand`: calls that could run now.
 */
export function excessCalls({ limit, load }: Scaled, demand: number, now: number): number {
  if (limit.shown === undefined || limit.state === 'down' || load === undefined) return 0;
  const permits = limit.permits(now);
  return load.running + load.waiting < permits * BINDING ? 0 : Math.max(0, Math.round(demand - permits));
}

/**
 * Returns the load of a replica, 0 to 1: its calls as a share of the most that one of `replicas` has shown to take. The
 * sum over the replicas, rounded up, is how many of them the calls need. Undefined while nobody knows.
 */
export function loadRatio({ load }: Pick<Scaled, 'load'>, replicas: Iterable<Scaled>): number | undefined {
  let most = 0;
  for (const { limit } of replicas) most = Math.max(most, limit.shown ?? 0);
  if (load === undefined || most === 0) return undefined;
  return Math.min(1, Number(((load.running + load.waiting) / most).toFixed(3)));
}
