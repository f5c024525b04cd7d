import { trimmedError } from '../../common/trimmed.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import type { Services } from '../services.ts';

/** Throws `gone` if the events of a rollout were dropped to save space. */
export async function requireTrajectories(
  { store }: Pick<Services, 'store'>,
  { batch, trimmed: isTrimmed }: Pick<RolloutRow, 'batch' | 'trimmed'>,
): Promise<void> {
  if (isTrimmed !== true) return;
  const trimmed = (await store.batch(batch))?.row.trimmed;
  if (trimmed !== undefined) throw trimmedError(batch, trimmed);
}
