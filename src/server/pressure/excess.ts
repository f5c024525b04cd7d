/** Says how much more an endpoint is asked for than it takes, which is what autoscalers of models need to know. */
import { BINDING, type EndpointLimit, type EngineLoad } from './limit.ts';

/**
 * Returns the calls that workers hold back because the endpoint takes no more. 0 until it has shown how many it takes,
 * while it is down, and while it has fewer than that: a session does not say which of its endpoints its calls are for.
 * `demand`: calls that could run now.
 */
export function excessCalls(
  { limit, load }: { readonly limit: EndpointLimit; readonly load: EngineLoad | undefined },
  demand: number,
  now: number,
): number {
  if (!limit.isShown || limit.state === 'down' || load === undefined) return 0;
  const permits = limit.permits(now);
  return load.running + load.waiting < permits * BINDING ? 0 : Math.max(0, Math.round(demand - permits));
}
