/** Text in which what is looked for is marked. */
import { literal } from '../../../src/trace/query/words.ts';

/** What a search found, as the list of steps needs it. */
export interface Match {
  /** seqs of the rows that hold it. */
  readonly rows: ReadonlySet<number>;
  /** What is looked for as it stands; none where a condition is. */
  readonly words: readonly string[];
}

export function Marked({ text, words = [] }: { readonly text: string; readonly words: readonly string[] | undefined }) {
  const wanted = words.filter((word) => word !== '');
  if (wanted.length === 0) return <>{text}</>;
  const pattern = new RegExp(`(${wanted.map(literal).join('|')})`, 'iu');
  // Of a text that is split by a group, every second part is what the group found.
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
