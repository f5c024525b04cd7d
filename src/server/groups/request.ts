/** `POST /v1/groups`: a trainer requests a group. */
import type { GroupRow, RequestGroup } from '../../protocol/groups.ts';
import { requireFiles } from '../batches/create.ts';
import type { Services } from '../services.ts';

/** Queues a group, and returns its row. A repeat returns the row of the existing one. */
export async function addGroup(services: Services, { batch, group, ...asked }: RequestGroup): Promise<GroupRow> {
  const { store, leasing, supervisor } = services;
  services.trained();
  leasing.gather(batch);
  if (typeof asked.task !== 'string') await requireFiles(services, [asked.task]);
  // Nothing is read before: a trainer requests all groups of a step at once, and waits for them.
  const row = await store.addGroup(batch, group, asked);
  leasing.check(batch, true);
  supervisor.check(batch);
  return row;
}
