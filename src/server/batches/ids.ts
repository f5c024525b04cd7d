/** Ids that clients make: they appear in file names, tokens and URLs, and their first letter tells what they name. */
import { StudioError } from '../../common/errors.ts';

export const BATCH_ID = /^b[A-Za-z0-9_-]{1,63}$/;
const ROLLOUT_ID = /^r[A-Za-z0-9_-]{1,63}$/;

/** Throws `usage`. */
export function checkBatchId(id: string): void {
  if (!BATCH_ID.test(id))
    throw new StudioError('usage', `${JSON.stringify(id.slice(0, 100))} cannot be the id of a batch.`, {
      hint: 'It is a b, then 1 to 63 letters, digits, _ or -.',
    });
}

/** Throws `usage`. */
export function checkRolloutId(id: string): void {
  if (!ROLLOUT_ID.test(id))
    throw new StudioError('usage', `${JSON.stringify(id.slice(0, 100))} cannot be the id of a rollout.`, {
      hint: 'It is an r, then 1 to 63 letters, digits, _ or -.',
    });
}
