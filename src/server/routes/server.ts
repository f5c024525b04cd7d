/** The server itself. */
import { StudioError } from '../../common/errors.ts';
import type { Route } from '../http/router.ts';
import type { Services } from '../services.ts';

export function serverRoutes(services: Services): Route[] {
  return [
    { method: 'GET', path: '/v1/server', may: 'read', handle: () => services.info() },
    /** The process answers. */
    { method: 'GET', path: '/healthz', may: 'anyone', handle: () => Promise.resolve({ ok: true }) },
    /** So does its store, and it stays for a while. */
    {
      method: 'GET',
      path: '/readyz',
      may: 'anyone',
      handle: async () => {
        if (services.draining()) throw new StudioError('unavailable', 'This server ends.');
        await services.store.now();
        return { ok: true };
      },
    },
  ];
}
