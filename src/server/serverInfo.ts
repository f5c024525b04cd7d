/** What `GET /v1/server` returns. */
import { PRODUCT } from '../common/product.ts';
import type { ServerInfo } from '../protocol/client.ts';
import { PROTOCOL, STORE_VERSION } from '../protocol/version.ts';
import type { Store } from '../store/store.ts';
import type { BackPressure } from './pressure/backPressure.ts';

export async function serverInfo(store: Store, startedAt: number, pressure: BackPressure): Promise<ServerInfo> {
  const [counts, sessions, now] = await Promise.all([store.counts(), store.sessions(), store.now()]);
  return {
    product: PRODUCT,
    protocol: PROTOCOL,
    store_version: STORE_VERSION,
    pid: process.pid,
    store: store.name,
    started_at: startedAt,
    ...counts,
    workers: sessions.map(({ session, worker, slots, running, held, expiresAt }) => ({
      session,
      worker,
      slots,
      running,
      held,
      alive: expiresAt > now,
    })),
    endpoints: pressure.info(),
  };
}
