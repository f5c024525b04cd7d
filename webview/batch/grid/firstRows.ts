/**
 * Draws the first rows of a batch into the document's skeleton before the page's program is loaded: with the grid's own
 * painter, from the early responses (host/early.ts). The program later redraws them from validated data. Until then the
 * rows are not interactive, and if anything is unexpected the skeleton stays.
 */

import type { BatchRow } from '../../../src/protocol/client.ts';
import type { PagePlace } from '../../../src/protocol/page.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import type { Early } from '../../host/early.ts';
import { inWorkspace, recallUnchecked } from '../../host/memory.ts';
import { stylesLoaded } from '../../theme/stylesLoaded.ts';
import { groupsKey } from '../groups/groupsKey.ts';
import type { GridRow } from '../model/arrange.ts';
import { COLUMN_NAMES, COLUMNS_KEY, columnChoice, isText } from '../model/columns.ts';
import { attemptsSeen, HEAD, type Layout, LETTER, layoutOf, numbered, ROW, rowsSeen } from '../model/geometry.ts';
import { type AttemptRows, sureAttempts, taskFacts } from '../model/taskFacts.ts';
import { coloursOf, type GridColours } from './colours.ts';
import { fitCanvas, type PaintedGrid, Painter } from './paint.ts';

/** Narrower pages have other bars above the grid, with heights that only the program knows. */
const NARROW = 640;
const WITH_PANE = 1180;

/** Class of a skeleton that shows rows: it stays until the page shows them too. */
export const WITH_ROWS = 'has-rows';

/**
 * Draws rows as they arrive, until the visible part is complete or the page takes over. Resolves once the first rows
 * are drawn, or when there are none.
 */
export function drawFirstRows(place: Extract<PagePlace, { page: 'batch' }>, { replies, socket }: Early): Promise<void> {
  const request = replies.get(`/v1/batches/${place.batch}`);
  if (request === undefined || socket === undefined || place.filter !== undefined || window.innerWidth <= NARROW)
    return Promise.resolve();
  return new Promise((resolve) => {
    const tasks: FirstTask[] = [];
    let grid: FirstGrid | undefined;
    const take = (text: string): void => {
      for (const row of rowsOf(text))
        (tasks[row.task_index] ??= { name: row.task, attempts: [] }).attempts[row.attempt - 1] = row;
      if (text.startsWith('{"type":"head"')) resolve(); // everything was sent, possibly nothing
    };
    const draw = (): void => {
      if (grid === undefined || tasks.length === 0) return;
      if (grid.draw()) resolve();
      else done();
    };
    const hear = ({ data }: MessageEvent<unknown>): void => {
      take(String(data));
      draw();
    };
    const done = (): void => {
      socket.socket.removeEventListener('message', hear);
      resolve();
    };
    for (const text of socket.received) take(text);
    socket.socket.addEventListener('message', hear);
    // Layout and colours are read from the styles.
    void Promise.all([request.then((reply): Promise<BatchRow> => reply.clone().json()), stylesLoaded()])
      .then(([row]) => {
        grid = inTaskOrder(row.name) ? FirstGrid.begin(row, tasks) : undefined;
        if (grid === undefined) done();
        else if (tasks.length === 0) grid.prepare();
        else draw();
      })
      .catch(done); // the program repeats the request and reports errors
  });
}

interface FirstTask extends AttemptRows {
  readonly name: string;
  readonly attempts: (RolloutRow | undefined)[];
}

/** Returns the rows in a frame of the server; there is only one subscription. */
function rowsOf(text: string): readonly RolloutRow[] {
  if (!text.startsWith('{"type":"rows"')) return [];
  const { rows } = JSON.parse(text) as { readonly rows: readonly RolloutRow[] };
  return rows;
}

/** Returns whether the page shows batches of this name as the grid, in its default order. */
function inTaskOrder(name: string): boolean {
  if (recallUnchecked(groupsKey(name)) === true) return false;
  const chosen = recallUnchecked(`batch.${name}`);
  return chosen === undefined || JSON.stringify(chosen) === JSON.stringify({ sort: 'task', group: 'none' });
}

class FirstGrid {
  readonly #skeleton: Element;
  readonly #scroller: HTMLElement;
  readonly #stage: HTMLElement;
  readonly #canvas: HTMLCanvasElement;
  readonly #row: BatchRow;
  readonly #tasks: readonly (FirstTask | undefined)[];
  readonly #painter = new Painter();
  #colours: GridColours | undefined;

  private constructor(skeleton: Element, row: BatchRow, tasks: readonly (FirstTask | undefined)[]) {
    this.#skeleton = skeleton;
    this.#row = row;
    this.#tasks = tasks;
    const body = box('batch-body');
    const grid = box('batch-grid', body);
    this.#scroller = box('batch-grid-scroller', grid);
    const size = box('batch-grid-size', this.#scroller);
    size.style.height = `${HEAD + row.tasks * ROW}px`;
    this.#stage = box('batch-grid-stage', size);
    this.#canvas = document.createElement('canvas');
    if (window.innerWidth >= WITH_PANE && recallUnchecked('batch.pane') !== false) box('attempt-pane', body);
    skeleton.classList.add('batch-page');
    skeleton.querySelector('.skeleton-rows')?.replaceWith(body, box('batch-foot'));
  }

  /** Returns undefined if the page has already taken over. */
  static begin(row: BatchRow, tasks: readonly (FirstTask | undefined)[]): FirstGrid | undefined {
    const skeleton = document.querySelector('#page > .skeleton');
    return skeleton === null ? undefined : new FirstGrid(skeleton, row, tasks);
  }

  /** Draws once invisibly, so that fonts, colors, and the painter are ready for the first rows. */
  prepare(): void {
    this.#paint();
  }

  /** Draws rows. Returns false once there is nothing more to draw. */
  draw(): boolean {
    if (!this.#skeleton.isConnected) return false;
    const painted = this.#paint();
    if (painted === undefined) return false;
    const { layout, seen } = painted;
    this.#stage.replaceChildren(headOf(layout), this.#canvas);
    this.#skeleton.classList.add(WITH_ROWS);
    for (let index = seen.from; index < seen.to; index++)
      if (Object.keys(this.#tasks[index]?.attempts ?? []).length < sureAttempts(this.#row)) return true;
    return false;
  }

  /** Returns undefined without a canvas. */
  #paint(): { readonly layout: Layout; readonly seen: ReturnType<typeof rowsSeen> } | undefined {
    const ctx = this.#canvas.getContext('2d');
    if (ctx === null) return undefined;
    const longest = this.#tasks.reduce((letters, task) => Math.max(letters, task?.name.length ?? 0), 0);
    const { clientWidth: width, clientHeight } = this.#scroller;
    const layout = layoutOf({
      width,
      height: clientHeight - HEAD,
      attempts: this.#row.attempts,
      page: window.innerWidth,
      longest: longest * LETTER,
      choice: columnChoice(recallUnchecked(inWorkspace(COLUMNS_KEY))),
    });
    const seen = rowsSeen(layout, this.#row.tasks, 0);
    fitCanvas(this.#canvas, layout, window.devicePixelRatio);
    ctx.setTransform(window.devicePixelRatio, 0, 0, window.devicePixelRatio, 0, 0);
    this.#colours ??= coloursOf(this.#scroller);
    this.#painter.paint(ctx, {
      view: this.#painted(seen.to),
      layout,
      colours: this.#colours,
      scroll: { left: 0, top: 0 },
      focused: document.hasFocus(),
    });
    return { layout, seen };
  }

  #painted(rows: number): PaintedGrid {
    const tasks = this.#tasks;
    const sure = sureAttempts(this.#row);
    return {
      rows: Array.from({ length: rows }, (_, index): GridRow => ({ kind: 'task', index })),
      hover: undefined,
      // Where the page puts it once it has the focus.
      cursor: document.hasFocus() ? { on: 'cell', index: 0, attempt: 1 } : undefined,
      kept: undefined,
      data: { tasks, records: [] },
      has: (index, attempt) => attempt <= sure || tasks[index]?.attempts[attempt - 1] !== undefined,
      row: (index, attempt) => tasks[index]?.attempts[attempt - 1],
      taskName: (index) => tasks[index]?.name ?? '',
      facts: (index) => taskFacts(tasks[index], sure),
      stamp: (index) => taskFacts(tasks[index], sure).stamp,
      shows: () => true,
      fades: () => false,
    };
  }
}

/** Creates the grid's head without its interactions (gridHead.tsx). */
function headOf(layout: Layout): HTMLElement {
  const head = box('batch-grid-head');
  const text = (name: string, x: number, words: string, parent = head): void => {
    const element = box(name, parent);
    element.style.left = `${x}px`;
    element.textContent = words;
  };
  text('batch-grid-sort', layout.name - 12, 'task');
  text('batch-grid-sort', layout.bar, 'pass rate');
  const numbers = box('batch-grid-numbers', head);
  numbers.style.left = `${layout.cells}px`;
  const isNumbered = numbered(layout);
  const { from, to } = attemptsSeen(layout, 0);
  for (let attempt = from; attempt < to; attempt++) {
    const name = `batch-grid-number${attempt === 1 && document.hasFocus() ? ' on' : ''}`;
    if (isNumbered(attempt)) text(name, (attempt - 0.5) * layout.cell, String(attempt), numbers);
  }
  for (const { id, x, width } of layout.columns) {
    const column = box(`batch-grid-column${isText(id) ? ' is-text' : ''}`, head);
    Object.assign(column.style, { left: `${x}px`, width: `${width}px` });
    column.textContent = COLUMN_NAMES[id].head;
  }
  return head;
}

function box(name: string, parent?: HTMLElement): HTMLElement {
  const element = document.createElement('div');
  element.className = name;
  parent?.append(element);
  return element;
}
