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
  if (!limit.isShown || limit.state === 'down' || load === undefined) return 0;
  const permits = limit.permits(now);
  return load.running + load.waiting < permits * BINDING ? 0 : Math.max(0, Math.round(demand - permits));
}

/**
 * Returns the load of a replica, 0 to 1: its calls as a share of the most that one of `replicas` runs at once. The sum
 * over the replicas, rounded up, is how many of them the calls need. Undefined while nobody knows. Not a share of the
 * limit: refusals halve that, and it lets calls wait that make autoscalers add replicas.
 */
export function loadRatio({ load }: Pick<Scaled, 'load'>, replicas: Iterable<Scaled>): number | undefined {
  let most = 0;
  for (const { limit } of replicas) most = Math.max(most, limit.slots ?? 0);
  if (load === undefined || most === 0) return undefined;
  // Down, so that parts of a whole never add up to more.
  return Math.min(1, Math.floor(((load.running + load.waiting) / most) * 1_000) / 1_000);
}
