/** The parts of two texts that differ, by words. */
import { diffWordsWithSpace } from 'diff';

export interface DiffSpan {
  readonly text: string;
  readonly differs: boolean;
}

/** Longer texts, and those with more edits, differ as a whole: a comparison must not hold up the page. */
const MAX_LENGTH = 20_000;
const MAX_EDITS = 400;

/** Returns the spans of both texts; the spans of each join to the whole text. */
export function inlineDiff(before: string, after: string): { before: DiffSpan[]; after: DiffSpan[] } {
  const changes =
    before.length + after.length > MAX_LENGTH
      ? undefined
      : diffWordsWithSpace(before, after, { maxEditLength: MAX_EDITS });
  if (changes === undefined)
    return { before: [{ text: before, differs: true }], after: [{ text: after, differs: true }] };
  return {
    before: changes.flatMap(({ value, added, removed }) => (added ? [] : [{ text: value, differs: removed }])),
    after: changes.flatMap(({ value, added, removed }) => (removed ? [] : [{ text: value, differs: added }])),
  };
}
