/** Highlights search words in a text. */
import { literal } from '../../../src/trace/query/words.ts';

/** A search result, for the list of steps. */
export interface Match {
  /** seqs of the matching rows. */
  readonly rows: ReadonlySet<number>;
  /** The words to highlight; empty for a condition. */
  readonly words: readonly string[];
}

export function Marked({ text, words = [] }: { readonly text: string; readonly words: readonly string[] | undefined }) {
  const needles = words.filter((word) => word !== '');
  if (needles.length === 0) return <>{text}</>;
  const pattern = new RegExp(`(${needles.map(literal).join('|')})`, 'iu');
  // Splitting by a group puts the matches at the odd indexes.
  return (
    <>
      {text.split(pattern).map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <mark key={index} class="step-found">
            {part}
          </mark>
        ),
      )}
    </>
  );
}
