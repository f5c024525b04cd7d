/** The icon of a page's tab, by what became of its batch or rollout. */
import type { BatchRow } from '../../protocol/client.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { outcomeOf, type Outcome } from '../../trace/outcome.ts';
import type { Services } from '../services.ts';

/** Files of `media/icons/pages`. */
export type PageIcon = 'batch' | Outcome;

export async function iconOfPlace(services: Pick<Services, 'server' | 'batches'>, place: PagePlace, signal: AbortSignal): Promise<PageIcon> {
  if (place.page === 'compare' || place.page === 'batches') return 'batch'; // it does not follow what runs
  if (place.page === 'batch') return batchIcon(await services.batches.get(place.batch, signal));
  const connection = await services.server.connection({ start: false, signal });
  return outcomeOf((await connection.api.rollout(place.rollout, signal)).row);
}

export function batchIcon(row: Pick<BatchRow, 'state'>): PageIcon {
  return row.state === 'running' ? 'running' : 'batch';
}
