import { StudioError } from '../../common/errors.ts';
import type { BatchRow } from '../../protocol/client.ts';

/** Returns where the feed of a batch continues after a group: `rev` of its row, behind the ID of the batch. */
export function groupCursor(batch: string, rev: number): string {
  return `${batch}.${rev}`;
}

/** Returns the `rev` in a cursor. Throws `usage` for that of another batch, and `gone` for one from the future. */
export function revOf({ batch, rev: newest }: BatchRow, cursor: string | undefined): number {
  if (cursor === undefined || cursor === '' || cursor === '0') return 0;
  const [, of, digits] = /^(b[\w-]+)\.(\d+)$/.exec(cursor) ?? [];
  if (of === undefined || digits === undefined)
    throw new StudioError('usage', `“${cursor.slice(0, 100)}” is not a cursor of a feed.`, {
      hint: 'Use `cursor` of the last group that you have, or none to begin with the first group.',
    });
  if (of !== batch)
    throw new StudioError('usage', `The cursor belongs to batch ${of}, not to ${batch}.`, {
      hint: 'Use `cursor` of the last group that you have of this batch.',
    });
  const rev = Number(digits);
  if (rev > newest)
    throw new StudioError('gone', `The cursor is past the end of the feed of batch ${batch}.`, {
      hint: 'The store was replaced by an older one. Begin again, without a cursor.',
    });
  return rev;
}
