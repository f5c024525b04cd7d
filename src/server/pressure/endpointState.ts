/** What back-pressure knows of endpoints, and of the batches that call them. */
import type { WaitReason } from '../../trace/schema.ts';
import type { EndpointLimit, EngineLoad } from './limit.ts';
import type { EndpointOutage } from './outage.ts';
import type { Router } from './routers.ts';

export interface Endpoint {
  readonly name: string;
  /** What people see. */
  readonly label: string;
  readonly limit: EndpointLimit;
  readonly batches: Set<string>;
  load: EngineLoad | undefined;
  /** The router that answers there. */
  router: Router | undefined;
  text: string | undefined;
  readonly outage: EndpointOutage;
  /** Permits when they were last sent. */
  sentPermits: number;
  timer: NodeJS.Timeout | undefined;
  /** Why sessions that could call it had no permits, when they were last divided, by batch. */
  waits: ReadonlyMap<string, WaitReason>;
  /** Rollouts that could call it, as last computed. */
  demand: { readonly at: number; readonly rollouts: number } | undefined;
}

export interface DividedSession {
  readonly permits: Record<string, number>;
  readonly waits: Record<string, WaitReason>;
}

/** The endpoints a batch calls, by the names in its configuration. */
export interface Use {
  readonly agent: readonly string[];
  readonly others: readonly string[];
  /** Concurrent rollouts, if the batch sets a number. */
  readonly width: number | undefined;
  /** Number of endpoints over which its rollouts are spread. */
  spread: number;
}
