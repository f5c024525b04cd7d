/** Routes by which trainers pause model endpoints, and announce new weights. */
import { setEndpoint } from '../../protocol/endpoints.ts';
import { readJson } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';

export function endpointRoutes({ endpoints }: Services): RouteHandler[] {
  return [
    {
      method: 'POST',
      path: '/v1/endpoints',
      handle: async (call) => endpoints.set(await readJson(call, setEndpoint), call.signal),
    },
    {
      method: 'GET',
      path: '/v1/endpoints',
      handle: async () => ({ endpoints: await endpoints.list() }),
    },
  ];
}
