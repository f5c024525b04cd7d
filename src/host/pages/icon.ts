/** Selects the tab icon of a page by the outcome of its batch or rollout. */

import type { BatchRow } from '../../protocol/client.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { type Outcome, outcomeOf } from '../../trace/outcome.ts';
import type { PageServer } from '../server/connections.ts';
import type { Services } from '../services.ts';

/** File names in `media/icons/pages`. */
export type PageIcon = 'batch' | Outcome;

interface IconServices extends Pick<Services, 'batches'> {
  readonly server: Pick<PageServer, 'connection' | 'elsewhere'>;
}

export async function iconOfPlace(
  { batches, server }: IconServices,
  place: PagePlace,
  signal: AbortSignal,
): Promise<PageIcon> {
  if (place.page === 'compare' || place.page === 'batches') return 'batch'; // does not depend on outcomes
  // The batch list belongs to the window's server.
  if (place.page === 'batch' && !server.elsewhere) return batchIcon(await batches.get(place.batch, signal));
  const connection = await server.connection({ start: false, signal });
  if (place.page === 'batch' || place.page === 'fidelity')
    return batchIcon(await connection.api.batch(place.batch, signal));
  return outcomeOf((await connection.api.rollout(place.rollout, signal)).row);
}

export function batchIcon(row: Pick<BatchRow, 'state'>): PageIcon {
  return row.state === 'running' ? 'running' : 'batch';
}
