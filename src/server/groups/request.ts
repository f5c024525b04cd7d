/** `POST /v1/groups`: a trainer requests a group. */
import { StudioError } from '../../common/errors.ts';
import { checkSizes, type GroupRow, type RequestGroup } from '../../protocol/groups.ts';
import type { GroupRequest } from '../../store/groupStore.ts';
import { recordOf, requireFiles } from '../batches/create.ts';
import type { Services } from '../services.ts';

/** Queues a group, and returns its row. A repeat returns the row of the existing one. */
export async function addGroup(services: Services, request: RequestGroup): Promise<GroupRow> {
  const { store, leasing, supervisor } = services;
  services.trained();
  const { batch, group, task } = request;
  const { spec } = await recordOf(services, batch);
  const settings = spec.group;
  if (settings === undefined)
    throw new StudioError('conflict', `Batch ${batch} was not created for groups.`, {
      hint: 'Create it with `rollout run BATCH.yaml --groups N`, or with `group` in POST /v1/batches.',
    });
  const size = request.size ?? settings.size;
  const deadline = request.deadline_s ?? settings.deadline_s;
  const resolved: GroupRequest = {
    task,
    size,
    extra: request.extra ?? settings.extra,
    // That of the batch may be larger than a smaller group.
    min_usable: request.min_usable ?? Math.min(size, settings.min_usable ?? size),
    ...(deadline === undefined ? {} : { deadline_s: deadline }),
    priority: request.priority ?? 0,
    ...(request.sampling === undefined ? {} : { sampling: request.sampling }),
  };
  checkSizes(resolved, {
    addIssue: ({ path, message }) => {
      throw new StudioError('usage', `Invalid value in the request body: ${path.join('.')}: ${message}.`);
    },
  });
  if (typeof task !== 'string') await requireFiles(services, [task]);
  const row = await store.addGroup(batch, group, resolved);
  leasing.check(batch, true);
  supervisor.check(batch);
  return row;
}
