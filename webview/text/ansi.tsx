/** Shows the output of a program with its colors. */
import { useMemo } from 'preact/hooks';
import { type AnsiSpan, ansiSpans } from './ansiSpans.ts';

const NAMES = ['Black', 'Red', 'Green', 'Yellow', 'Blue', 'Magenta', 'Cyan', 'White'];

export function Ansi({ text }: { readonly text: string }) {
  const spans = useMemo(() => ansiSpans(text), [text]);
  return (
    <pre class="plain-text is-wrapped ansi" tabIndex={0}>
      {spans.map((span, index) => (
        <span key={index} class={classOf(span)}>
          {span.text}
        </span>
      ))}
    </pre>
  );
}

function classOf({ colour, bold, dim, underline }: AnsiSpan): string {
  return [
    ...(colour === undefined ? [] : [`ansi-${colour > 7 ? 'bright' : ''}${NAMES[colour % 8] ?? ''}`]),
    ...(bold === true ? ['ansi-bold'] : []),
    ...(dim === true ? ['dim'] : []),
    ...(underline === true ? ['ansi-underline'] : []),
  ].join(' ');
}
