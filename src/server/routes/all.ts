import type { Tokens } from '../access/tokens.ts';
import type { Route } from '../http/router.ts';
import type { Services } from '../services.ts';
import type { Scrape } from '../telemetry/scrape.ts';
import type { BlobQuota } from '../workers/blobQuota.ts';
import type { SessionAccess } from '../workers/sessionAccess.ts';
import { batchRoutes } from './batches.ts';
import { blobRoutes } from './blobs.ts';
import { endpointRoutes } from './endpoints.ts';
import { groupRoutes } from './groups.ts';
import { metricsRoutes } from './metrics.ts';
import { type Programs, programRoutes } from './programs.ts';
import { rolloutRoutes } from './rollouts.ts';
import { serverRoutes } from './server.ts';
import { ticketRoutes } from './tickets.ts';
import { viewRoutes } from './view.ts';

interface RoutesOptions {
  readonly services: Services;
  readonly tokens: Tokens;
  readonly access: SessionAccess;
  readonly quota: BlobQuota;
  readonly scrape: Scrape;
  /** Whether `/metrics` needs no token. */
  readonly openMetrics: boolean;
  readonly programs: Programs | undefined;
  /** Folder of the pages for browsers. */
  readonly pages: string;
}

/** Returns all routes of the server. */
export function allRoutes(options: RoutesOptions): Route[] {
  const { services, tokens, access, quota, scrape, openMetrics, programs, pages } = options;
  return [
    ...batchRoutes(services),
    ...groupRoutes(services),
    ...rolloutRoutes(services),
    ...blobRoutes(services, access, quota),
    ...serverRoutes(services),
    ...endpointRoutes(services),
    ...metricsRoutes(scrape, openMetrics),
    ...programRoutes(programs),
    ...ticketRoutes(tokens),
    ...viewRoutes(pages),
  ];
}
