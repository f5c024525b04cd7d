/** Finds the trajectory for a command: its argument, the active page, or one that the user picks. */
import { placeOf } from '../../client/reference.ts';
import { StudioError } from '../../common/errors.ts';
import type { PagePlace } from '../../protocol/page.ts';
import type { Services } from '../services.ts';
import { argumentPlace } from './argument.ts';
import { pickTrajectory } from './pick.ts';

/** Returns undefined if the user cancels. `title`: of the list to pick from. */
export async function trajectoryOf(
  services: Services,
  argument: unknown,
  title?: string,
): Promise<Extract<PagePlace, { page: 'trajectory' }> | undefined> {
  const active = services.pages.active.value;
  const named =
    argumentPlace(argument) ??
    (active?.page === 'trajectory' ? active : undefined) ??
    (await pickTrajectory(services, title));
  if (named === undefined) return undefined;
  const place =
    typeof named === 'string'
      ? await placeOf((await services.server.connection()).api, named, new AbortController().signal)
      : named;
  if (place.page !== 'trajectory') throw new StudioError('usage', 'Select an attempt, not a batch.');
  return place;
}
