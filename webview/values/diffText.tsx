/** A text next to another one, with the parts that differ tinted. */
import type { DiffSpan } from './inlineDiff.ts';
import './diffText.css';

/** `kind`: `expected` (or added) and `actual` (or removed) have the colors of a diff editor. */
export function DiffText({
  spans,
  kind,
}: {
  readonly spans: readonly DiffSpan[];
  readonly kind: 'expected' | 'actual';
}) {
  return (
    <span class="diff-text">
      {spans.map(({ text, differs }, index) =>
        differs ? (
          <mark key={index} class={`diff-span is-${kind}`}>
            {text}
          </mark>
        ) : (
          text
        ),
      )}
    </span>
  );
}
