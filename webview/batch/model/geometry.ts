/** The layout of the grid in CSS pixels: columns from the left, rows of fixed height, and hit testing. */
import { ALL_COLUMNS, type Column, type ColumnChoice, type ColumnId, columnsOf } from './columns.ts';

export const ROW = 22;
export const HEAD = 24;
/** Estimated average width of a letter. */
export const LETTER = 7.4;
/** Minimum width of a cell with room for the step count of a running attempt. */
export const CELL_WITH_COUNT = 21;

export interface Layout {
  readonly width: number;
  readonly height: number;
  /** Number of columns. */
  readonly attempts: number;
  readonly cell: number;
  /**
   * x of the task's name, of the bar, of the “21/32” after it, and of the first cell. The part before the cells does
   * not scroll horizontally.
   */
  readonly name: number;
  readonly bar: number;
  readonly barWidth: number;
  readonly rate: number;
  readonly cells: number;
  /** The columns after the cells that there is room for. */
  readonly columns: readonly Column[];
  /** Width of all columns. */
  readonly whole: number;
}

/** Possible widths of a cell. The widest with which all attempts fit is used. */
const CELLS = [22, 18, 14, 11, 8];
const NARROW_CELLS = [8, 7, 6];
/** Space between the last cell and the edge, and between it and the next column. */
const MARGIN = 10;

interface LayoutInput {
  readonly width: number;
  readonly height: number;
  readonly attempts: number;
  /** Width of the page, which selects the narrow layouts. */
  readonly page: number;
  /** Width of the longest name loaded so far. */
  readonly longest: number;
  readonly choice?: ColumnChoice;
  /** Columns without any content. */
  readonly absent?: ReadonlySet<ColumnId>;
}

const NONE: ReadonlySet<ColumnId> = new Set();

export function layoutOf({
  width,
  height,
  attempts,
  page,
  longest,
  choice = ALL_COLUMNS,
  absent = NONE,
}: LayoutInput): Layout {
  const narrow = page <= 640;
  const name = narrow ? 12 : 24;
  const barWidth = narrow ? 0 : 56;
  const rateWidth = 46;
  const room = width - MARGIN;
  const most = narrow ? (page < 440 ? 120 : 142) : Math.max(130, Math.min(280, room * 0.25));
  const nameWidth = Math.max(90, Math.min(most, longest + 14));
  const bar = name + nameWidth;
  const rate = bar + (barWidth === 0 ? 4 : barWidth + 8);
  const cells = rate + rateWidth + (narrow ? 4 : 12);
  const sizes = narrow ? NARROW_CELLS.filter((size) => page >= 440 || size < 8) : CELLS;
  const cell = sizes.find((size) => cells + attempts * size <= room) ?? sizes.at(-1) ?? 8;
  const end = cells + attempts * cell;
  const columns = narrow ? [] : columnsOf({ from: end + MARGIN, to: width }, choice, absent);
  return {
    width,
    height,
    attempts,
    cell,
    name,
    bar,
    barWidth,
    rate,
    cells,
    columns,
    whole: end + 4,
  };
}

type Spot =
  | { readonly part: 'cell'; readonly row: number; readonly attempt: number }
  | { readonly part: 'name'; readonly row: number }
  | { readonly part: 'nothing' };

/** Returns what is at a point of the visible part, below the head. `attempt` counts from 1. */
export function hit(
  layout: Layout,
  rows: number,
  x: number,
  y: number,
  scroll: { readonly left: number; readonly top: number },
): Spot {
  const row = Math.floor((y + scroll.top) / ROW);
  if (y < 0 || row < 0 || row >= rows) return { part: 'nothing' };
  if (x < layout.cells) return { part: 'name', row };
  const attempt = Math.floor((x + scroll.left - layout.cells) / layout.cell) + 1;
  return attempt >= 1 && attempt <= layout.attempts ? { part: 'cell', row, attempt } : { part: 'name', row };
}

export interface Span {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** Returns the rows that are at least partly visible. */
export function rowsSeen(layout: Layout, rows: number, top: number): Span {
  return { from: Math.max(0, Math.floor(top / ROW)), to: Math.min(rows, Math.ceil((top + layout.height) / ROW)) };
}

/** Returns the attempts that are at least partly visible, from 1. */
export function attemptsSeen(layout: Layout, left: number): Span {
  const last = Math.ceil((left + layout.width - layout.cells) / layout.cell);
  return { from: Math.max(1, Math.floor(left / layout.cell) + 1), to: Math.min(layout.attempts, last) + 1 };
}

/** Returns the scroll position that makes a cell fully visible; the current one if it is. */
export function scrollTo(
  layout: Layout,
  row: number,
  attempt: number | undefined,
  scroll: { readonly left: number; readonly top: number },
): { left: number; top: number } {
  const y = row * ROW;
  const top = y < scroll.top ? y : y + ROW > scroll.top + layout.height ? y + ROW - layout.height : scroll.top;
  if (attempt === undefined) return { left: scroll.left, top };
  const x = (attempt - 1) * layout.cell;
  const room = layout.width - layout.cells - MARGIN;
  const left = x < scroll.left ? x : x + layout.cell > scroll.left + room ? x + layout.cell - room : scroll.left;
  return { left, top };
}

/** Returns the attempts whose numbers are in the head: 1 and the multiples of a step that leaves room for them. */
export function numbered(layout: Layout): (attempt: number) => boolean {
  const step = [4, 8, 16, 20, 50, 100].find((each) => each * layout.cell >= 56) ?? 100;
  return (attempt) => (attempt === 1 && layout.attempts > 0) || attempt % step === 0;
}
