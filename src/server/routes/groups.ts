/** Routes for trainers: they request groups of attempts, and read those that have ended. */
import { requestGroup } from '../../protocol/groups.ts';
import { requireOwn } from '../access/caller.ts';
import { servicesFor } from '../access/guard.ts';
import { recordOf } from '../batches/create.ts';
import { feed } from '../groups/feed.ts';
import { addGroup } from '../groups/request.ts';
import { tokens } from '../groups/tokens.ts';
import { type Call, limitQuery, readJson, wholeQuery } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';

const GROUPS = { usual: 200, most: 1_000 };

export function groupRoutes(services: Services): RouteHandler[] {
  return [
    {
      method: 'POST',
      path: '/v1/groups',
      handle: async (call) => {
        const request = await readJson(call, requestGroup);
        const own = servicesFor(services, call);
        if (!own.caller.all) requireOwn(own.caller, (await recordOf(own, request.batch)).row);
        return addGroup(own, request);
      },
    },
    { method: 'GET', path: '/v1/groups', handle: (call) => list(services, call) },
    { method: 'GET', path: '/v1/batches/:batch/groups', handle: (call) => feed(services, call) },
    { method: 'GET', path: '/v1/batches/:batch/tokens', handle: (call) => tokens(services, call) },
  ];
}

async function list(services: Services, call: Call): Promise<unknown> {
  const { row } = await recordOf(servicesFor(services, call), call.query.get('batch') ?? '');
  const after = wholeQuery(call, 'after', { least: 0, most: Number.MAX_SAFE_INTEGER });
  const group = call.query.get('group');
  return services.store.groups(row.batch, {
    limit: limitQuery(call, GROUPS.usual, GROUPS.most),
    ...(after === undefined ? {} : { after }),
    ...(group === null ? {} : { group }),
  });
}
