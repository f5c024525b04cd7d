/**
 * The grid for assistive technology and tests: real rows and cells at their places on the canvas, for the visible part.
 * Unchanged rows keep their nodes.
 */

import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { plural } from '../../../src/common/text.ts';
import type { BatchView } from '../batchView.ts';
import type { GroupRow } from '../model/arrange.ts';
import { cellName } from '../model/cellText.ts';
import { COLUMN_PADDING, type Column } from '../model/columns.ts';
import { HEAD, type Layout, ROW, type Span } from '../model/geometry.ts';
import type { Cursor } from '../model/move.ts';
import { columnText, lineOf } from '../model/rowTexts.ts';
import { CAUSE_TEXT } from './paint.ts';
import { textWidth } from './textWidth.ts';

/** Of an accessible name. */
const HIDDEN = ', hidden by the filter';

interface GridModelProps {
  readonly view: BatchView;
  readonly layout: Layout;
  readonly rows: Span;
  readonly attempts: Span;
}

export function cursorId(cursor: Cursor | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  return cursor.on === 'group' ? `group-${cursor.key}` : `cell-${cursor.index}-${cursor.attempt}`;
}

export function GridModel({ view, layout, rows, attempts }: GridModelProps) {
  const kept = useRef(new Map<string, { readonly signature: string; readonly node: VNode }>());
  const next = new Map<string, { readonly signature: string; readonly node: VNode }>();
  const nodes: VNode[] = [];
  const columns = layout.columns.map(({ id, x, width }) => `${id} ${x} ${width}`).join(' ');
  const once = (key: string, signature: string, make: () => VNode): void => {
    const before = kept.current.get(key);
    const entry = before?.signature === signature ? before : { signature, node: make() };
    next.set(key, entry);
    nodes.push(entry.node);
  };
  for (let i = rows.from; i < rows.to; i++) {
    const row = view.rows[i];
    if (row?.kind === 'group') {
      const on = view.cursor?.on === 'group' && view.cursor.key === row.key;
      once(`group ${row.key}`, JSON.stringify([row, i, on, layout.width]), () => groupNode(row, i, on, layout));
    } else if (row !== undefined) {
      const at = view.cursor?.on === 'cell' && view.cursor.index === row.index ? view.cursor.attempt : 0;
      const selected = view.kept?.index === row.index ? view.kept.attempt : 0;
      const signature = [
        i,
        view.stamp(row.index),
        view.filterVersion,
        view.data.scorer,
        view.taskName(row.index),
        at,
        selected,
        attempts.from,
        attempts.to,
        layout.cells,
        layout.cell,
        layout.bar,
        columns,
        view.data.records[row.index] !== undefined,
      ].join(' ');
      once(`task ${row.index}`, signature, () => taskNode(view, row.index, i, { layout, attempts, at, selected }));
    }
  }
  kept.current = next;
  return (
    <div role="rowgroup" class="batch-grid-model">
      {nodes}
    </div>
  );
}

function groupNode(group: GroupRow, i: number, on: boolean, layout: Layout): VNode {
  const rate = group.rate === undefined ? '' : `, pass rate ${group.rate.toFixed(2)}`;
  return (
    <div key={`group ${group.key}`} role="row" aria-rowindex={i + 2} style={{ top: `${HEAD + i * ROW}px` }}>
      <div
        role="gridcell"
        id={`group-${group.key}`}
        aria-colindex={1}
        aria-colspan={layout.attempts + 2 + layout.columns.length}
        aria-expanded={group.open}
        aria-selected={on}
        aria-label={`${group.name}, ${plural(group.tasks, 'task')}${rate}`}
        style={{ left: '0', width: `${layout.width}px` }}
      />
    </div>
  );
}

interface TaskNode {
  readonly layout: Layout;
  readonly attempts: Span;
  readonly at: number;
  readonly selected: number;
}

function taskNode(view: BatchView, index: number, i: number, { layout, attempts, at, selected }: TaskNode): VNode {
  const name = view.taskName(index);
  const { passed, scored } = view.facts(index);
  const cells: VNode[] = [];
  for (let attempt = attempts.from; attempt < attempts.to; attempt++) {
    const row = view.row(index, attempt);
    cells.push(
      <div
        key={attempt}
        role="gridcell"
        id={`cell-${index}-${attempt}`}
        aria-colindex={attempt + 2}
        aria-selected={attempt === selected || attempt === at}
        aria-label={cellName(name, attempt, row, view.has(index, attempt)) + (view.shows(row) ? '' : HIDDEN)}
        style={{ left: `${layout.cells + (attempt - 1) * layout.cell}px`, width: `${layout.cell}px` }}
      />,
    );
  }
  return (
    <div key={`task ${index}`} role="row" aria-rowindex={i + 2} style={{ top: `${HEAD + i * ROW}px` }}>
      <div role="rowheader" aria-colindex={1} title={name} class="pinned" style={{ width: `${layout.bar - 4}px` }}>
        <span class="only-read">{name}</span>
      </div>
      <div
        role="gridcell"
        aria-colindex={2}
        aria-label={`${passed} of ${scored} passed`}
        class="pinned"
        style={{ left: `${layout.bar}px`, width: `${layout.cells - layout.bar}px` }}
      />
      {cells}
      {layout.columns.map((column, at) => (
        <ColumnCell key={column.id} view={view} index={index} column={column} at={layout.attempts + 3 + at} />
      ))}
    </div>
  );
}

/** A text that is cut off has a title. */
function ColumnCell({
  view,
  index,
  column: { id, x, width },
  at,
}: {
  readonly view: BatchView;
  readonly index: number;
  readonly column: Column;
  /** Number of the column. */
  readonly at: number;
}) {
  const text = columnText(view, index, id);
  const line = lineOf(text);
  const room = width - COLUMN_PADDING.left - COLUMN_PADDING.right - (id === 'cause' ? CAUSE_TEXT : 0);
  const cut = line !== text.trim() || textWidth(line) > room;
  return (
    <div
      role="gridcell"
      aria-colindex={at}
      title={cut ? text : undefined}
      style={{ left: `${x}px`, width: `${width}px` }}
    >
      <span class="only-read">{line}</span>
    </div>
  );
}
