import { StudioError } from '../../common/errors.ts';
import { ROUTE_RIGHTS } from '../../protocol/access.ts';
import type { Guard } from '../access/guard.ts';
import type { Logins } from '../access/logins.ts';
import type { ProxyIdentity } from '../access/proxyIdentity.ts';
import type { Tokens } from '../access/tokens.ts';
import type { Route, RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';
import type { Scrape } from '../telemetry/scrape.ts';
import type { BlobQuota } from '../workers/blobQuota.ts';
import type { SessionAccess } from '../workers/sessionAccess.ts';
import { archiveRoutes } from './archives.ts';
import { auditRoutes } from './audit.ts';
import { batchRoutes } from './batches.ts';
import { blobRoutes } from './blobs.ts';
import { endpointRoutes } from './endpoints.ts';
import { groupRoutes } from './groups.ts';
import { loginRoutes } from './login.ts';
import { METRICS_PATH, metricsRoutes } from './metrics.ts';
import { podRoutes } from './pods.ts';
import { type Programs, programRoutes } from './programs.ts';
import { rolloutRoutes } from './rollouts.ts';
import { serverRoutes } from './server.ts';
import { shareRoutes } from './shares.ts';
import { ticketRoutes } from './tickets.ts';
import { viewRoutes } from './view.ts';

interface RoutesOptions {
  readonly services: Services;
  readonly tokens: Tokens;
  readonly logins: Logins;
  readonly proxy: ProxyIdentity | undefined;
  readonly guard: Guard;
  readonly access: SessionAccess;
  readonly quota: BlobQuota;
  readonly scrape: Scrape;
  /** Whether `/metrics` needs no token. */
  readonly openMetrics: boolean;
  readonly programs: Programs | undefined;
  /** Folder of the pages for browsers. */
  readonly pages: string;
}

/** Returns all routes of the server, with what each needs. */
export function allRoutes(options: RoutesOptions): Route[] {
  const { services, tokens, logins, guard, access, quota, scrape, openMetrics, programs, pages } = options;
  const handlers = [
    ...batchRoutes(services),
    ...groupRoutes(services),
    ...podRoutes(services),
    ...rolloutRoutes(services),
    ...blobRoutes(services, access, quota),
    ...serverRoutes(services),
    ...auditRoutes(services),
    ...archiveRoutes(services),
    ...endpointRoutes(services),
    ...shareRoutes(services),
    ...metricsRoutes(scrape),
    ...programRoutes(programs),
    ...ticketRoutes(tokens),
    ...loginRoutes(logins, options.proxy),
    ...viewRoutes(pages),
  ];
  return handlers.map((handler) => guard.guarded(handler, accessOf(handler, openMetrics)));
}

function accessOf({ method, path }: RouteHandler, openMetrics: boolean): Route['access'] {
  const name = `${method} ${path}`;
  const access = Object.hasOwn(ROUTE_RIGHTS, name) ? ROUTE_RIGHTS[name] : undefined;
  if (access === undefined) throw new StudioError('internal', `No right is assigned to the route ${name}.`);
  return openMetrics && path === METRICS_PATH ? 'anyone' : access;
}
