/** Shows plain text. Of long texts, only the visible lines are rendered. */
import { useMemo } from 'preact/hooks';
import { VirtualList } from '../components/virtualList.tsx';

const MAX_PLAIN_LINES = 2_000;
const LINE_HEIGHT = 18;
const VISIBLE_LINES = 30;

export function PlainText({
  text,
  wrap = false,
  label = 'Text',
}: {
  readonly text: string;
  readonly wrap?: boolean;
  readonly label?: string;
}) {
  const lines = useMemo(() => text.split(/\r?\n/), [text]);
  if (lines.length <= MAX_PLAIN_LINES)
    return (
      <pre class={`plain-text${wrap ? ' is-wrapped' : ''}`} tabIndex={0}>
        {text}
      </pre>
    );
  return (
    <div class="plain-lines" style={{ height: `${VISIBLE_LINES * LINE_HEIGHT}px` }}>
      <VirtualList
        count={lines.length}
        rowHeight={LINE_HEIGHT}
        label={label}
        role="list"
        selected={-1}
        keyOf={(index) => index}
        onSelect={() => undefined}
        row={(index) => <code>{lines[index]}</code>}
      />
    </div>
  );
}
