/** A value as a tree. Rows can be expanded and collapsed with the keyboard. */
import { useState } from 'preact/hooks';
import { Icon } from '../components/marks/icon.tsx';
import { VirtualList } from '../components/virtualList.tsx';
import type { ValueRow } from './valueDocument.ts';
import { markOf, Sign, type ValueMarks } from './valueMarks.tsx';

const ROW_HEIGHT = 20;
/** More rows scroll. */
const MAX_VISIBLE_ROWS = 24;

export function ValueTree({
  label,
  rows,
  marks,
  onToggle,
}: {
  readonly label: string;
  readonly rows: readonly ValueRow[];
  readonly marks?: ValueMarks | undefined;
  readonly onToggle: (key: string, open: boolean) => void;
}) {
  const [at, setAt] = useState(-1);
  const toggle = (index: number, to?: boolean): void => {
    const row = rows[index];
    if (row?.open !== undefined && (to === undefined || to !== row.open)) onToggle(row.key, !row.open);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft') return;
    const row = rows[at];
    if (row === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const isOpening = event.key === 'ArrowRight';
    if (row.open === !isOpening) toggle(at, isOpening);
    else if (isOpening && row.open === true) setAt(Math.min(rows.length - 1, at + 1));
    else if (!isOpening)
      setAt(
        Math.max(
          0,
          rows.findLastIndex((other, index) => index < at && other.depth < row.depth),
        ),
      );
  };
  return (
    <div
      class="value-tree"
      style={{ height: `${Math.min(rows.length, MAX_VISIBLE_ROWS) * ROW_HEIGHT}px` }}
      onKeyDown={onKeyDown}
    >
      <VirtualList
        count={rows.length}
        rowHeight={ROW_HEIGHT}
        label={label}
        role="tree"
        selected={at}
        keyOf={(index) => rows[index]?.key ?? index}
        row={(index) => {
          const row = rows[index];
          return row === undefined ? null : <Row row={row} marks={marks} onToggle={() => toggle(index)} />;
        }}
        rowProps={(index) => {
          const row = rows[index];
          return {
            'aria-level': (row?.depth ?? 0) + 1,
            ...(row?.open === undefined ? {} : { 'aria-expanded': row.open }),
          };
        }}
        onSelect={setAt}
        onOpen={(index) => toggle(index)}
      />
    </div>
  );
}

function Row({
  row,
  marks,
  onToggle,
}: {
  readonly row: ValueRow;
  readonly marks: ValueMarks | undefined;
  readonly onToggle: () => void;
}) {
  const mark = marks === undefined ? undefined : markOf(marks, row.key, row.open === false);
  const changed = row.change === undefined ? '' : ` is-${row.change}`;
  const marked = mark === undefined ? '' : ` is-marked is-${mark.side}${mark.counts ? '' : ' is-plausible'}`;
  return (
    <span class={`value-row${changed}${marked}`} style={{ paddingLeft: `${row.depth * 12}px` }}>
      {marks !== undefined && (mark === undefined ? <span class="value-sign" /> : <Sign mark={mark} />)}
      <span class="value-twist" onClick={row.open === undefined ? undefined : onToggle}>
        {row.open !== undefined && <Icon name={row.open ? 'chevron-down' : 'chevron-right'} />}
      </span>
      {row.name !== '' && (
        <span class="value-name">
          {row.name}
          {row.kind === 'range' ? '' : ':'}
        </span>
      )}
      {row.oldText !== undefined && (
        <del class="value-old" title="Previous value">
          {scalarText(row.kind, row.oldText)}
        </del>
      )}
      {row.change === 'removed' ? (
        <del class="value-old" title="Removed">
          {scalarText(row.kind, row.text)}
        </del>
      ) : (
        <Value row={row} />
      )}
    </span>
  );
}

function Value({ row }: { readonly row: ValueRow }) {
  if (row.kind === 'range') return null;
  if (row.kind === 'object' || row.kind === 'array')
    return row.open === true && row.text !== '{}' ? null : <span class="value-container">{row.text}</span>;
  const text = scalarText(row.kind, row.text);
  const inner = (
    <span class={`value-${row.kind}`}>
      {text}
      {row.cut === true && (
        <span class="value-cut" title="Truncated. Open the value in an editor to see all of it.">
          …
        </span>
      )}
    </span>
  );
  return row.change === undefined ? inner : <ins class="value-new">{inner}</ins>;
}

/** Formats a scalar on one line, texts in quotes. */
function scalarText(kind: ValueRow['kind'], text: string): string {
  return kind === 'string' ? `"${text.replaceAll('\n', '↵')}"` : text;
}
