/** What a trainer did not say about a group is what its batch says. */
import { StudioError } from '../../../common/errors.ts';
import { checkSizes, type GroupSettings } from '../../../protocol/groups.ts';
import type { AskedGroup, GroupRequest } from '../../groupStore.ts';

/** Returns the whole request, or why its numbers do not fit each other. */
export function withDefaults(asked: AskedGroup, settings: GroupSettings): GroupRequest | StudioError {
  const { task, priority, sampling, size = settings.size, deadline_s: deadline = settings.deadline_s } = asked;
  const request: GroupRequest = {
    task,
    size,
    extra: asked.extra ?? settings.extra,
    // That of the batch may be larger than a smaller group.
    min_usable: asked.min_usable ?? Math.min(size, settings.min_usable ?? size),
    ...(deadline === undefined ? {} : { deadline_s: deadline }),
    priority: priority ?? 0,
    ...(sampling === undefined ? {} : { sampling }),
  };
  let problem: StudioError | undefined;
  checkSizes(request, {
    addIssue: ({ path, message }) => {
      problem ??= new StudioError('usage', `Invalid value in the request body: ${path.join('.')}: ${message}.`);
    },
  });
  return problem ?? request;
}
