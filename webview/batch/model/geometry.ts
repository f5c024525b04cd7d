/**
 * Where things are in the grid, in CSS pixels: columns from the left, rows of a fixed height, and what is under a
 * point.
 */

export const ROW = 22;
export const HEAD = 24;
/** About the widest that a letter of a name is on the average. */
export const LETTER = 7.4;
/** Smallest width of a cell that has room for the step count of a running attempt. */
export const CELL_WITH_COUNT = 21;

export interface Layout {
  readonly width: number;
  readonly height: number;
  /** Columns. */
  readonly attempts: number;
  readonly cell: number;
  /**
   * x of the task's name, of the bar and of the “21/32” behind it, of the first cell. The part before the cells stays
   * when they scroll.
   */
  readonly name: number;
  readonly bar: number;
  readonly barWidth: number;
  readonly rate: number;
  readonly cells: number;
  /** x where the columns behind the cells begin; 0: no room for them. */
  readonly extra: number;
  /** Width of all columns. */
  readonly whole: number;
}

/** Widths of a cell, the widest that lets all attempts in is taken. */
const CELLS = [22, 18, 14, 11, 8];
const NARROW_CELLS = [8, 7, 6];
const EXTRA = 300;
/** Between the last column and the edge. */
const MARGIN = 10;

interface LayoutInput {
  readonly width: number;
  readonly height: number;
  readonly attempts: number;
  /** Width of the page: decides on the narrow forms. */
  readonly page: number;
  /** Width of the longest name, as far as it is known. */
  readonly longest: number;
}

export function layoutOf({ width, height, attempts, page, longest }: LayoutInput): Layout {
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
  const extra = !narrow && end + EXTRA <= room ? Math.max(end + 16, Math.min(room - EXTRA, end + 48)) : 0;
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
    extra,
    whole: Math.max(end + 4, extra === 0 ? 0 : extra + EXTRA),
  };
}

type Spot =
  | { readonly part: 'cell'; readonly row: number; readonly attempt: number }
  | { readonly part: 'name'; readonly row: number }
  | { readonly part: 'nothing' };

/** What is at a point of the scrolled-to part, below the head. `attempt` counts from 1. */
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
  /** The first one behind. */
  readonly to: number;
}

/** Rows of which any pixel is seen. */
export function rowsSeen(layout: Layout, rows: number, top: number): Span {
  return { from: Math.max(0, Math.floor(top / ROW)), to: Math.min(rows, Math.ceil((top + layout.height) / ROW)) };
}

/** Attempts of which any pixel is seen, from 1. */
export function attemptsSeen(layout: Layout, left: number): Span {
  const last = Math.ceil((left + layout.width - layout.cells) / layout.cell);
  return { from: Math.max(1, Math.floor(left / layout.cell) + 1), to: Math.min(layout.attempts, last) + 1 };
}

/** How far to scroll so that a cell is seen whole; the present place when it is. */
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

/** Which attempts have their number in the head: 1 and the multiples of a step that leaves room for them. */
export function numbered(layout: Layout): (attempt: number) => boolean {
  const step = [4, 8, 16, 20, 50, 100].find((each) => each * layout.cell >= 56) ?? 100;
  return (attempt) => (attempt === 1 && layout.attempts > 0) || attempt % step === 0;
}
