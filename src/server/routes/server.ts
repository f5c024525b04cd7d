/** Routes for the server itself. */
import { StudioError } from '../../common/errors.ts';
import type { ServerInfo } from '../../protocol/client.ts';
import { sortedRights } from '../access/logins.ts';
import type { Call } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';

export function serverRoutes(services: Services): RouteHandler[] {
  return [
    { method: 'GET', path: '/v1/server', handle: (call) => info(services, call) },
    /** The process responds. */
    { method: 'GET', path: '/healthz', handle: () => Promise.resolve({ ok: true }) },
    /** The store responds too, and the server is not shutting down. */
    {
      method: 'GET',
      path: '/readyz',
      handle: async () => {
        if (services.draining()) throw new StudioError('unavailable', 'The server is shutting down.');
        await services.store.now();
        return { ok: true };
      },
    },
  ];
}

async function info(services: Services, { identity }: Call): Promise<ServerInfo> {
  const found = await services.info();
  if (identity?.kind !== 'client') return found;
  const { session, rights } = identity;
  return { ...found, you: { ...(session === undefined ? {} : { user: session.user }), rights: sortedRights(rights) } };
}
