/** Text as it is. A long one is drawn only where it is in sight. */
import { useMemo } from 'preact/hooks';
import { VirtualList } from '../components/virtualList.tsx';

const WHOLE_LINES = 2_000;
const LINE_HEIGHT = 18;
const LINES_IN_SIGHT = 30;

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
  if (lines.length <= WHOLE_LINES)
    return (
      <pre class={`plain-text${wrap ? ' is-wrapped' : ''}`} tabIndex={0}>
        {text}
      </pre>
    );
  return (
    <div class="plain-lines" style={{ height: `${LINES_IN_SIGHT * LINE_HEIGHT}px` }}>
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
