/** Draws the visible part of the grid. The only state is the cache of shortened texts. */

import { compact, count, duration } from '../../../src/common/units.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';
import { drawGlyph } from '../../components/marks/glyphCanvas.ts';
import { isDisputed } from '../../data/judged.ts';
import type { CellAt } from '../batchView.ts';
import { type GridRow, type GroupRow, rateOf } from '../model/arrange.ts';
import { COLUMN_PADDING, type Column } from '../model/columns.ts';
import { attemptsSeen, CELL_WITH_COUNT, type Layout, ROW, rowsSeen, type Span } from '../model/geometry.ts';
import type { Cursor } from '../model/move.ts';
import { answerOf, causeIn, lineOf, questionOf, type ShownCause } from '../model/rowTexts.ts';
import { type AttemptRows, outcomeAt, type TaskFacts, type TaskMedians, taskMedians } from '../model/taskFacts.ts';
import type { GridColours } from './colours.ts';

/** The data to draw: a batch's view, or its first rows before the view exists. */
export interface PaintedGrid {
  readonly rows: readonly GridRow[];
  readonly hover: CellAt | undefined;
  readonly cursor: Cursor | undefined;
  readonly kept: CellAt | undefined;
  readonly data: {
    readonly tasks: readonly (AttemptRows | undefined)[];
    /** Tasks with their texts, as far as they are loaded. */
    readonly records: readonly TaskRecord[];
  };
  has(index: number, attempt: number): boolean;
  row(index: number, attempt: number): RolloutRow | undefined;
  taskName(index: number): string;
  facts(index: number): TaskFacts;
  /** Returns a number that changes with every row of the task. */
  stamp(index: number): number;
  shows(row: RolloutRow | undefined): boolean;
  /** Returns whether something else is pointed out. */
  fades(row: RolloutRow | undefined): boolean;
}

export interface Picture {
  readonly view: PaintedGrid;
  readonly layout: Layout;
  readonly colours: GridColours;
  readonly scroll: { readonly left: number; readonly top: number };
  /** Whether the grid has the focus. */
  readonly focused: boolean;
}

/** Attempts between two lines. */
const COLUMNS = 8;
const FADED = 0.14;
const HALF_FADED = 0.4;
/** A cross covers more than other shapes. */
const CROSS = 0.82;
/** Size of the mark of a cell whose verdicts contradict each other. */
const CORNER = 6;
/** Size of the glyph before a cause, and the distance from it to the text. */
const CAUSE_GLYPH = 9;
export const CAUSE_TEXT = 16;

export class Painter {
  readonly #cut = new Map<string, string>();
  readonly #medians = new Map<number, { readonly stamp: number; readonly medians: TaskMedians }>();

  paint(ctx: CanvasRenderingContext2D, picture: Picture): void {
    const { view, layout, colours, scroll } = picture;
    const rows = rowsSeen(layout, view.rows.length, scroll.top);
    const attempts = attemptsSeen(layout, scroll.left);
    const room = layout.bar - layout.name - 10;
    ctx.clearRect(0, 0, layout.width, layout.height);
    ctx.textBaseline = 'middle';
    this.#tints(ctx, picture, rows);
    ctx.save();
    ctx.beginPath();
    ctx.rect(layout.cells - 2, 0, layout.width - layout.cells + 2, layout.height);
    ctx.clip();
    lines(ctx, picture, attempts);
    for (let i = rows.from; i < rows.to; i++) {
      const row = view.rows[i];
      if (row?.kind === 'task') cells(ctx, picture, row.index, i * ROW - scroll.top, attempts);
    }
    ctx.restore();
    for (let i = rows.from; i < rows.to; i++) {
      const row = view.rows[i];
      const y = i * ROW - scroll.top;
      if (row?.kind === 'group') this.#group(ctx, picture, row, y);
      else if (row !== undefined) this.#task(ctx, picture, row.index, y, room);
    }
    if (layout.cells + layout.attempts * layout.cell > layout.width && scroll.left > 0) {
      ctx.fillStyle = colours.line;
      ctx.fillRect(layout.cells - 3, 0, 1, layout.height);
    }
  }

  #tints(ctx: CanvasRenderingContext2D, { view, layout, colours, scroll }: Picture, rows: Span): void {
    const under = view.hover ?? (view.cursor?.on === 'cell' ? view.cursor : undefined);
    for (let i = rows.from; i < rows.to; i++) {
      const row = view.rows[i];
      if (row?.kind === 'group') ctx.fillStyle = colours.group;
      else if (row?.index === under?.index && under !== undefined) ctx.fillStyle = colours.hover;
      else continue;
      ctx.fillRect(0, i * ROW - scroll.top, layout.width, ROW);
    }
    if (under === undefined) return;
    const x = layout.cells + (under.attempt - 1) * layout.cell - scroll.left;
    if (x < layout.cells - layout.cell) return;
    ctx.fillStyle = colours.hover;
    ctx.globalAlpha = 0.6;
    const left = Math.max(layout.cells, x);
    ctx.fillRect(left, 0, x + layout.cell - left, Math.min(layout.height, view.rows.length * ROW - scroll.top));
    ctx.globalAlpha = 1;
  }

  #task(ctx: CanvasRenderingContext2D, picture: Picture, index: number, y: number, room: number): void {
    const { view, layout, colours } = picture;
    const facts = view.facts(index);
    const middle = y + ROW / 2 + 0.5;
    ctx.textAlign = 'left';
    ctx.font = `13px ${colours.family}`;
    ctx.fillStyle = colours.text;
    ctx.fillText(this.#fit(ctx, view.taskName(index), room), layout.name, middle);
    const rate = rateOf(facts);
    this.#bar(ctx, picture, rate, y);
    const passed = String(facts.passed);
    ctx.fillText(passed, layout.rate, middle);
    const width = ctx.measureText(passed).width;
    ctx.fillStyle = colours.dim;
    ctx.fillText(`/${facts.scored}`, layout.rate + width, middle);
    for (const column of layout.columns) this.#column(ctx, picture, index, { column, y: middle });
  }

  #column(
    ctx: CanvasRenderingContext2D,
    { view, colours }: Picture,
    index: number,
    { column: { id, x, width }, y }: { readonly column: Column; readonly y: number },
  ): void {
    const room = width - COLUMN_PADDING.left - COLUMN_PADDING.right;
    const left = x + COLUMN_PADDING.left;
    ctx.fillStyle = colours.text;
    switch (id) {
      case 'steps':
      case 'time': {
        const { steps, ms } = this.#mediansOf(view, index);
        const value = id === 'steps' ? steps : ms;
        if (value === undefined) return;
        ctx.textAlign = 'right';
        ctx.fillText(
          id === 'time' ? duration(value) : value < 1e6 ? count(value) : compact(value),
          x + width - COLUMN_PADDING.right,
          y,
        );
        ctx.textAlign = 'left';
        return;
      }
      case 'cause':
        this.#cause(ctx, colours, causeIn(view, index), { left, room, y });
        return;
      case 'question':
        ctx.fillText(this.#fit(ctx, lineOf(questionOf(view.data.records[index])), room, 'end'), left, y);
        return;
      case 'answer':
        ctx.fillStyle = colours.dim;
        ctx.fillText(this.#fit(ctx, lineOf(answerOf(view.data.records[index])), room, 'end'), left, y);
    }
  }

  #cause(
    ctx: CanvasRenderingContext2D,
    colours: GridColours,
    cause: ShownCause | undefined,
    { left, room, y }: { readonly left: number; readonly room: number; readonly y: number },
  ): void {
    if (cause === undefined) return;
    drawGlyph(ctx, cause.outcome, left, y - CAUSE_GLYPH / 2, CAUSE_GLYPH, colours.outcomes);
    const number = cause.count === undefined ? '' : ` ${cause.count}`;
    const text = this.#fit(ctx, cause.text, room - CAUSE_TEXT - ctx.measureText(number).width, 'end');
    ctx.fillText(text, left + CAUSE_TEXT, y);
    ctx.fillStyle = colours.dim;
    ctx.fillText(number, left + CAUSE_TEXT + ctx.measureText(text).width, y);
  }

  #group(ctx: CanvasRenderingContext2D, picture: Picture, group: GroupRow, y: number): void {
    const { view, layout, colours, focused } = picture;
    const middle = y + ROW / 2 + 0.5;
    ctx.fillStyle = colours.group;
    ctx.fillRect(0, y, layout.width, ROW);
    chevron(ctx, colours.text, layout.name - 12, middle, group.open);
    ctx.textAlign = 'left';
    ctx.font = `600 13px ${colours.family}`;
    ctx.fillStyle = colours.text;
    const x = layout.name + (layout.name < 20 ? 6 : -2);
    ctx.fillText(group.name, x, middle);
    const width = ctx.measureText(group.name).width;
    ctx.fillText(group.rate === undefined ? '' : group.rate.toFixed(2), layout.rate, middle);
    ctx.font = `13px ${colours.family}`;
    ctx.fillStyle = colours.dim;
    ctx.fillText(String(group.tasks), x + width + 6, middle);
    this.#bar(ctx, picture, group.rate, y);
    if (view.cursor?.on === 'group' && view.cursor.key === group.key && focused)
      outline(ctx, colours.focus, 0, y, layout.width, ROW);
  }

  #bar(ctx: CanvasRenderingContext2D, { layout, colours }: Picture, rate: number | undefined, y: number): void {
    if (layout.barWidth === 0) return;
    ctx.fillStyle = colours.tick;
    ctx.fillRect(layout.bar, y + 7, layout.barWidth, 8);
    ctx.fillStyle = colours.passed;
    ctx.fillRect(layout.bar, y + 7, layout.barWidth * (rate ?? 0), 8);
    ctx.fillStyle = colours.text;
  }

  /** Shortens a long text: a name in the middle, because similar names often differ at the end. */
  #fit(ctx: CanvasRenderingContext2D, text: string, room: number, where: 'middle' | 'end' = 'middle'): string {
    const shortened = where === 'middle' ? shortenedInMiddle : shortenedAtEnd;
    const key = `${where} ${room} ${text}`;
    const cached = this.#cut.get(key);
    if (cached !== undefined) return cached;
    let fitted = text;
    if (ctx.measureText(text).width > room) {
      let low = 1;
      let high = text.length;
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (ctx.measureText(shortened(text, middle)).width <= room) low = middle;
        else high = middle - 1;
      }
      fitted = shortened(text, low);
    }
    if (this.#cut.size > 5000) this.#cut.clear();
    this.#cut.set(key, fitted);
    return fitted;
  }

  #mediansOf(view: PaintedGrid, index: number): TaskMedians {
    const stamp = view.stamp(index);
    const cached = this.#medians.get(index);
    if (cached?.stamp === stamp) return cached.medians;
    const medians = taskMedians(view.data.tasks[index]);
    if (this.#medians.size > 5000) this.#medians.clear();
    this.#medians.set(index, { stamp, medians });
    return medians;
  }
}

/** Sets the size of the canvas to its layout, in device pixels. */
export function fitCanvas(canvas: HTMLCanvasElement, { width, height }: Layout, ratio: number): void {
  const pixels = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
  if (canvas.width === pixels.width && canvas.height === pixels.height) return;
  canvas.width = pixels.width;
  canvas.height = pixels.height;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

function shortenedInMiddle(text: string, letters: number): string {
  const end = Math.floor(letters / 3);
  return `${text.slice(0, letters - end).trimEnd()}…${end === 0 ? '' : text.slice(-end)}`;
}

function shortenedAtEnd(text: string, letters: number): string {
  return `${text.slice(0, letters).trimEnd()}…`;
}

function lines(ctx: CanvasRenderingContext2D, { view, layout, colours, scroll }: Picture, attempts: Span): void {
  ctx.fillStyle = colours.tick;
  const bottom = Math.min(layout.height, view.rows.length * ROW - scroll.top);
  for (let attempt = attempts.from; attempt < attempts.to; attempt++) {
    if (attempt % COLUMNS !== 0 || attempt === layout.attempts) continue;
    ctx.fillRect(Math.round(layout.cells + attempt * layout.cell - scroll.left), 0, 1, bottom);
  }
}

function cells(
  ctx: CanvasRenderingContext2D,
  { view, layout, colours, scroll, focused }: Picture,
  index: number,
  y: number,
  attempts: Span,
): void {
  const size = Math.min(12, layout.cell + 1);
  for (let attempt = attempts.from; attempt < attempts.to; attempt++) {
    const row = view.row(index, attempt);
    const x = layout.cells + (attempt - 1) * layout.cell - scroll.left;
    const at = view.cursor?.on === 'cell' && view.cursor.index === index && view.cursor.attempt === attempt;
    if (at) {
      ctx.fillStyle = colours.selected;
      ctx.fillRect(x, y, layout.cell, ROW);
      outline(ctx, colours.focus, x, y, layout.cell, ROW, focused ? 1 : 0.6);
    }
    if (view.kept?.index === index && view.kept.attempt === attempt)
      outline(ctx, colours.text, x + 1, y + 1, layout.cell - 2, ROW - 2, 0.7);
    ctx.globalAlpha = view.shows(row) ? (view.fades(row) ? HALF_FADED : 1) : FADED;
    if (view.has(index, attempt)) cell(ctx, colours, row, x, y, layout.cell, size);
    if (isDisputed(row)) corner(ctx, colours.disputed, x + layout.cell - 1, y + 1, Math.min(CORNER, layout.cell / 2));
    ctx.globalAlpha = 1;
  }
}

function cell(
  ctx: CanvasRenderingContext2D,
  colours: GridColours,
  row: RolloutRow | undefined,
  x: number,
  y: number,
  width: number,
  size: number,
): void {
  const outcome = outcomeAt(row);
  const step = row?.progress.step ?? row?.progress.steps ?? 0;
  const counted = outcome === 'running' && step > 0 && step < 100 && width >= CELL_WITH_COUNT; // room for two digits
  const drawn = outcome === 'failed' ? size * CROSS : counted ? 10 : size;
  const left = counted ? x + (step > 9 ? 0 : 1) : x + (width - drawn) / 2;
  drawGlyph(ctx, outcome, left, y + (ROW - drawn) / 2, drawn, colours.outcomes);
  if (!counted) return;
  ctx.font = `10px ${colours.family}`;
  ctx.textAlign = 'left';
  ctx.fillStyle = colours.outcomes.running;
  ctx.fillText(String(step), left + 10, y + ROW / 2 + 0.5);
}

/** Marks the upper right corner of a cell. */
function corner(ctx: CanvasRenderingContext2D, colour: string, right: number, top: number, size: number): void {
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.moveTo(right - size, top);
  ctx.lineTo(right, top);
  ctx.lineTo(right, top + size);
  ctx.fill();
}

function outline(
  ctx: CanvasRenderingContext2D,
  colour: string,
  x: number,
  y: number,
  width: number,
  height: number,
  alpha = 1,
): void {
  const before = ctx.globalAlpha;
  ctx.globalAlpha = before * alpha;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1;
  ctx.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  ctx.globalAlpha = before;
}

function chevron(ctx: CanvasRenderingContext2D, colour: string, x: number, y: number, open: boolean): void {
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1;
  ctx.beginPath();
  if (open) {
    ctx.moveTo(x - 4, y - 2);
    ctx.lineTo(x, y + 2);
    ctx.lineTo(x + 4, y - 2);
  } else {
    ctx.moveTo(x - 2, y - 4);
    ctx.lineTo(x + 2, y);
    ctx.lineTo(x - 2, y + 4);
  }
  ctx.stroke();
}
