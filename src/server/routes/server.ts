/** Routes for the server itself. */
import { StudioError } from '../../common/errors.ts';
import type { Route } from '../http/router.ts';
import type { Services } from '../services.ts';

export function serverRoutes(services: Services): Route[] {
  return [
    { method: 'GET', path: '/v1/server', access: 'read', handle: () => services.info() },
    /** The process responds. */
    { method: 'GET', path: '/healthz', access: 'anyone', handle: () => Promise.resolve({ ok: true }) },
    /** The store responds too, and the server is not shutting down. */
    {
      method: 'GET',
      path: '/readyz',
      access: 'anyone',
      handle: async () => {
        if (services.draining()) throw new StudioError('unavailable', 'The server is shutting down.');
        await services.store.now();
        return { ok: true };
      },
    },
  ];
}
