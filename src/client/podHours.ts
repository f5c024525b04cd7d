/** What the pods of a batch used. */
import { StudioError } from '../common/errors.ts';
import type { Api } from '../protocol/api.ts';
import type { BatchHours } from '../protocol/shares.ts';

export type PodHours = BatchHours['models'];

/** Returns undefined where no pod ran, and for servers of older versions. */
export async function podHours(api: Api, batch: string, signal?: AbortSignal): Promise<PodHours | undefined> {
  try {
    const { models } = await api.hours(batch, signal);
    return models.length === 0 ? undefined : models;
  } catch (error) {
    if (StudioError.is(error, 'not_found')) return undefined;
    throw error;
  }
}
