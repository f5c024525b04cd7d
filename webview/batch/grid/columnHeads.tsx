/** The heads of the columns after the cells. The edge between two texts can be moved with the pointer and with keys. */
import type { BatchView } from '../batchView.ts';
import {
  COLUMN_NAMES,
  COLUMN_PADDING,
  type Column,
  columnAfter,
  isText,
  MIN_WIDTHS,
  resized,
} from '../model/columns.ts';
import type { Layout } from '../model/geometry.ts';
import { columnText, lineOf } from '../model/rowTexts.ts';
import { CAUSE_TEXT } from './paint.ts';
import { textWidth } from './textWidth.ts';

/** A key moves an edge by this many pixels. */
const STEP = 16;
/** Rows that are measured to fit a column to its content. */
const MAX_MEASURED = 1_000;

interface HeadsProps {
  readonly view: BatchView;
  readonly layout: Layout;
}

export function ColumnHeads({ view, layout }: HeadsProps) {
  return layout.columns.map((column, index) => (
    <div
      key={column.id}
      role="columnheader"
      aria-colindex={layout.attempts + 3 + index}
      class={`batch-grid-column${isText(column.id) ? ' is-text' : ''}`}
      style={{ left: `${column.x}px`, width: `${column.width}px` }}
      title={column.id === 'steps' ? 'Median number of steps' : column.id === 'time' ? 'Median time' : undefined}
    >
      {COLUMN_NAMES[column.id].head}
      {isText(column.id) && columnAfter(layout.columns, column.id) !== undefined && (
        <Sash view={view} layout={layout} column={column} />
      )}
    </div>
  ));
}

function Sash({ view, layout, column }: HeadsProps & { readonly column: Column }) {
  const { id, width } = column;
  const resize = (to: number): void => view.arrangeColumns(resized(view.columns, layout.columns, id, to));
  const drag = (event: PointerEvent): void => {
    const sash = event.currentTarget as HTMLElement;
    const from = event.clientX - width;
    const { columns: choice } = view;
    const move = (pointer: PointerEvent): void =>
      view.arrangeColumns(resized(choice, layout.columns, id, pointer.clientX - from));
    const end = (): void => {
      sash.removeEventListener('pointermove', move);
      sash.removeEventListener('pointerup', end);
      sash.removeEventListener('pointercancel', end);
    };
    sash.setPointerCapture(event.pointerId);
    sash.addEventListener('pointermove', move);
    sash.addEventListener('pointerup', end);
    sash.addEventListener('pointercancel', end);
  };
  const key = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (by !== undefined) resize(width + by);
    else if (event.key === 'Enter') resize(contentWidth(view, column));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="batch-grid-sash"
      role="separator"
      tabIndex={0}
      aria-label={`Resize ${COLUMN_NAMES[id].name.toLowerCase()}`}
      aria-orientation="vertical"
      aria-valuenow={width}
      aria-valuemin={MIN_WIDTHS[id]}
      title="Drag to resize, double-click to fit"
      onMouseDown={(event) => event.preventDefault()} // the focus stays in the grid
      onPointerDown={drag}
      onDblClick={(event) => {
        event.stopPropagation();
        resize(contentWidth(view, column));
      }}
      onClick={(event) => event.stopPropagation()}
      onKeyDown={key}
    />
  );
}

/** Returns the width in which the texts of a column fit. */
function contentWidth(view: BatchView, { id }: Column): number {
  let width = 0;
  for (const row of view.rows.slice(0, MAX_MEASURED))
    if (row.kind === 'task') width = Math.max(width, textWidth(lineOf(columnText(view, row.index, id))));
  return Math.ceil(width) + (id === 'cause' ? CAUSE_TEXT : 0) + COLUMN_PADDING.left + COLUMN_PADDING.right + 1;
}
