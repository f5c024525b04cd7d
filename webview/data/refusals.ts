/** Why the user of a page may not do something, for the titles of disabled buttons. */
import { type Right, refusal } from '../../src/protocol/access.ts';
import type { BatchRow } from '../../src/protocol/client.ts';
import type { StreamData } from './streamData.ts';

/** Returns undefined if the user may, as far as the server said. `batch`: what it is about. */
export function refusalOf(
  { you }: Pick<StreamData, 'you'>,
  right: Right,
  batch: Pick<BatchRow, 'by'> | undefined,
): string | undefined {
  return refusal(you, right, batch?.by);
}
