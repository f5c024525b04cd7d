/** IDs created by clients. They appear in file names, tokens, and URLs; the first letter says what they identify. */
import { StudioError } from '../../common/errors.ts';

export const BATCH_ID = /^b[A-Za-z0-9_-]{1,63}$/;
const ROLLOUT_ID = /^r[A-Za-z0-9_-]{1,63}$/;

/** Throws `usage`. */
export function checkBatchId(id: string): void {
  if (!BATCH_ID.test(id))
    throw new StudioError('usage', `${JSON.stringify(id.slice(0, 100))} is not a valid batch ID.`, {
      hint: 'Use the letter b, followed by 1 to 63 letters, digits, _ or -.',
    });
}

/** Throws `usage`. */
export function checkRolloutId(id: string): void {
  if (!ROLLOUT_ID.test(id))
    throw new StudioError('usage', `${JSON.stringify(id.slice(0, 100))} is not a valid rollout ID.`, {
      hint: 'Use the letter r, followed by 1 to 63 letters, digits, _ or -.',
    });
}
