/** The columns after the cells of the grid: which there is room for, how wide they are, and what users choose. */
import { isJsonObject } from '../../../src/common/json.ts';

export const COLUMNS = ['steps', 'time', 'question', 'cause', 'answer'] as const;
export type ColumnId = (typeof COLUMNS)[number];

/** Names in the head, and for the menu and screen readers. */
export const COLUMN_NAMES: Readonly<Record<ColumnId, { readonly head: string; readonly name: string }>> = {
  steps: { head: 'steps', name: 'Steps' },
  time: { head: 'p50', name: 'Median time' },
  question: { head: 'question', name: 'Question' },
  cause: { head: 'cause, most often', name: 'Cause' },
  answer: { head: 'expected answer', name: 'Expected answer' },
};

export interface ColumnChoice {
  readonly hidden: readonly ColumnId[];
  /** Widths in pixels of the columns that were resized. */
  readonly widths: Readonly<Partial<Record<ColumnId, number>>>;
}

/** Where the choice is remembered, for each workspace. */
export const COLUMNS_KEY = 'batch.columns';

export const ALL_COLUMNS: ColumnChoice = { hidden: [], widths: {} };

export interface Column {
  readonly id: ColumnId;
  readonly x: number;
  readonly width: number;
}

/** Space left of a text, right of the line between two columns, and right of it. */
export const COLUMN_PADDING = { left: 11, right: 8 } as const;

export const MIN_WIDTHS: Readonly<Record<ColumnId, number>> = {
  steps: 56,
  time: 72,
  question: 150,
  cause: 150,
  answer: 120,
};
/** Widths that columns grow to first, in this order. */
const USUAL: Readonly<Partial<Record<ColumnId, number>>> = { question: 200, cause: 234 };
/** Shares of the room that is left. */
const SHARES: Readonly<Partial<Record<ColumnId, number>>> = { question: 1.3, answer: 0.88 };
/** Where there is no room for all, the last ones are left out. */
const BY_IMPORTANCE: readonly ColumnId[] = ['cause', 'question', 'steps', 'time', 'answer'];

/** Whether users can resize it. */
export function isText(id: ColumnId): boolean {
  return id !== 'steps' && id !== 'time';
}

/** Returns the columns that fit between two positions, from left to right. `absent`: columns without any content. */
export function columnsOf(
  { from, to }: { readonly from: number; readonly to: number },
  { hidden, widths }: ColumnChoice,
  absent: ReadonlySet<ColumnId>,
): Column[] {
  let left = Math.floor(to) - Math.ceil(from);
  const sizes = new Map<ColumnId, number>();
  for (const id of BY_IMPORTANCE) {
    if (hidden.includes(id) || absent.has(id) || MIN_WIDTHS[id] > left) continue;
    sizes.set(id, MIN_WIDTHS[id]);
    left -= MIN_WIDTHS[id];
  }
  for (const [id, width] of Object.entries({ ...USUAL, ...widths })) {
    const size = sizes.get(id as ColumnId);
    const more = size === undefined ? 0 : Math.max(0, Math.min(left, width - size));
    if (size !== undefined) sizes.set(id as ColumnId, size + more);
    left -= more;
  }
  fill(sizes, widths, left);
  let x = Math.ceil(from);
  return COLUMNS.flatMap((id): Column[] => {
    const width = sizes.get(id);
    if (width === undefined) return [];
    x += width;
    return [{ id, x: x - width, width }];
  });
}

/** Shares the rest among the columns that were not resized, or else leaves it to the last text. */
function fill(sizes: Map<ColumnId, number>, widths: ColumnChoice['widths'], rest: number): void {
  let room = rest;
  let open = [...sizes.keys()].filter((id) => SHARES[id] !== undefined && widths[id] === undefined);
  if (open.length === 0) {
    const last = COLUMNS.findLast((id) => isText(id) && sizes.has(id));
    if (last !== undefined) sizes.set(last, (sizes.get(last) ?? 0) + rest);
    return;
  }
  for (const id of open) room += sizes.get(id) ?? 0;
  for (;;) {
    const all = open.reduce((sum, id) => sum + (SHARES[id] ?? 0), 0);
    const share = (id: ColumnId): number => Math.floor((room * (SHARES[id] ?? 0)) / all);
    const small = open.find((id) => share(id) < MIN_WIDTHS[id]);
    if (small === undefined) {
      for (const id of open) sizes.set(id, share(id));
      return;
    }
    room -= MIN_WIDTHS[small];
    open = open.filter((id) => id !== small);
  }
}

/** Returns the next text column: both share the line between them. */
export function columnAfter(columns: readonly Column[], id: ColumnId): Column | undefined {
  return columns[columns.findIndex((column) => column.id === id) + 1];
}

/** Gives a column another width, at the expense of the next one. */
export function resized(choice: ColumnChoice, columns: readonly Column[], id: ColumnId, width: number): ColumnChoice {
  const [column, next] = [columns.find((each) => each.id === id), columnAfter(columns, id)];
  if (column === undefined || next === undefined) return choice;
  const both = column.width + next.width;
  const own = Math.round(Math.max(MIN_WIDTHS[id], Math.min(width, both - MIN_WIDTHS[next.id])));
  return { ...choice, widths: { ...choice.widths, [id]: own, [next.id]: both - own } };
}

export function toggled({ hidden, widths }: ColumnChoice, id: ColumnId): ColumnChoice {
  return { widths, hidden: hidden.includes(id) ? hidden.filter((other) => other !== id) : [...hidden, id] };
}

/** Reads a remembered choice, without zod: the first rows are drawn before it is loaded. */
export function columnChoice(value: unknown): ColumnChoice {
  if (!isJsonObject(value)) return ALL_COLUMNS;
  const { hidden, widths } = value;
  return {
    hidden: COLUMNS.filter((id) => Array.isArray(hidden) && hidden.includes(id)),
    widths: Object.fromEntries(
      COLUMNS.flatMap((id) => {
        const width = isJsonObject(widths) ? widths[id] : undefined;
        return typeof width === 'number' && Number.isFinite(width) ? [[id, width]] : [];
      }),
    ),
  };
}
