/** Routes for the server itself. */
import { StudioError } from '../../common/errors.ts';
import type { ServerInfo } from '../../protocol/client.ts';
import { callerOf, sees } from '../access/caller.ts';
import { youOf } from '../access/rights.ts';
import type { ClientIdentity } from '../access/tokens.ts';
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
  const you = youOf(identity);
  // Workers are named after their batches.
  return { ...found, you, ...(callerOf(identity).all ? {} : { workers: await visibleWorkers(services, identity) }) };
}

async function visibleWorkers(services: Services, identity: ClientIdentity): Promise<ServerInfo['workers']> {
  const [{ workers }, sessions] = await Promise.all([services.info(), services.store.sessions()]);
  const caller = callerOf(identity);
  const batches = [...new Set(sessions.map(({ batch }) => batch))];
  const records = await Promise.all(batches.map((batch) => services.store.batch(batch)));
  const visible = new Set(
    records.flatMap((record) => (record !== undefined && sees(caller, record.row) ? [record.row.batch] : [])),
  );
  const shown = new Set(sessions.flatMap(({ session, batch }) => (visible.has(batch) ? [session] : [])));
  return workers.filter(({ session }) => shown.has(session));
}
