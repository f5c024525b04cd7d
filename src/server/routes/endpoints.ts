/** Routes by which trainers pause model endpoints, and announce new weights. */
import { publicUrl } from '../../common/redaction/hidable.ts';
import { setEndpoint } from '../../protocol/endpoints.ts';
import { readJson } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';

export function endpointRoutes({ endpoints }: Services): RouteHandler[] {
  return [
    {
      method: 'POST',
      path: '/v1/endpoints',
      handle: async (call) => {
        const change = await readJson(call, setEndpoint);
        call.about.detail = publicUrl(change.endpoint);
        return endpoints.set(change, call.signal);
      },
    },
    {
      method: 'GET',
      path: '/v1/endpoints',
      handle: async () => ({ endpoints: await endpoints.list() }),
    },
  ];
}
