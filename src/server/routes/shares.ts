/** The route that shows how the server divides what it has, and why batches wait. */
import { callerOf } from '../access/caller.ts';
import type { RouteHandler } from '../http/router.ts';
import type { Services } from '../services.ts';

export function shareRoutes({ shares }: Services): RouteHandler[] {
  return [{ method: 'GET', path: '/v1/shares', handle: (call) => shares(callerOf(call.identity)) }];
}
