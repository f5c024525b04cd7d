/** Groups the changed rows and files of a world by table, and chooses the columns. */
import { isJsonObject, isSameJson, type Json } from '../../src/common/json.ts';
import type { Change } from '../../src/trace/schema.ts';
import { valueText } from '../../src/trace/text/values.ts';

export type WorldChange = Pick<Change, 'table' | 'file' | 'key' | 'op' | 'before' | 'after'>;

export interface WorldGroup {
  readonly name: string;
  readonly rows: readonly WorldChange[];
  /** Members of its rows, changed ones first. Empty if the rows are not objects. */
  readonly columns: readonly string[];
  /** For example `1 changed, 2 added`. */
  readonly counts: string;
}

/** In the order in which they are counted. */
const COUNT_WORDS = { update: 'changed', insert: 'added', delete: 'removed', same: 'not changed' } as const;

interface CellText {
  readonly old?: string;
  readonly now?: string;
  readonly changed: boolean;
}

const CELL_CHARS = 200;
/** Number of rows that determine the names and widths of columns. */
const SAMPLE_ROWS = 2_000;
const MAX_COLUMN_CHARS = 30;

export function groupsOf(changes: readonly WorldChange[]): WorldGroup[] {
  const groups = Map.groupBy(changes, (change) => change.table ?? change.file ?? 'world');
  return [...groups].map(([name, rows]) => ({
    name,
    rows,
    columns: columnsOf(rows.slice(0, SAMPLE_ROWS)),
    counts: countText(rows),
  }));
}

function columnsOf(rows: readonly WorldChange[]): string[] {
  const all = new Set(rows.flatMap((row) => [...membersOf(row.before), ...membersOf(row.after)]));
  const changed = new Set(
    rows.flatMap((row) =>
      row.op === 'update'
        ? [...all].filter((name) => !isSameJson(memberOf(row.before, name), memberOf(row.after, name)))
        : [],
    ),
  );
  return [...changed, ...[...all].filter((name) => !changed.has(name))];
}

/** Returns the texts of a cell. `column`: undefined if the table has no columns. */
export function cellOf(row: WorldChange, column: string | undefined): CellText {
  const [before, after] =
    column === undefined ? [row.before, row.after] : [memberOf(row.before, column), memberOf(row.after, column)];
  const old = before === undefined ? undefined : short(before);
  const now = after === undefined ? undefined : short(after);
  if (row.op !== 'update' || isSameJson(before, after)) return { changed: false, now: now ?? old ?? '' };
  return { changed: true, ...(old === undefined ? {} : { old }), ...(now === undefined ? {} : { now }) };
}

export function keyText(row: WorldChange): string {
  return short(row.key);
}

/** Returns the widths of the key and of each column in characters, fitted to the content. */
export function widthsOf({ rows, columns }: WorldGroup): number[] {
  const sample = rows.slice(0, SAMPLE_ROWS);
  const width = (texts: readonly number[]): number => Math.min(MAX_COLUMN_CHARS, Math.max(4, ...texts));
  const cells = columns.length === 0 ? [undefined] : columns;
  return [
    width(sample.map((row) => keyText(row).length + 2)),
    ...cells.map((column) =>
      width([
        column?.length ?? 5,
        ...sample.map((row) => {
          const { old, now, changed } = cellOf(row, column);
          return changed ? (old?.length ?? 0) + (now?.length ?? 0) + 3 : (now?.length ?? 0);
        }),
      ]),
    ),
  ];
}

function membersOf(value: Json | undefined): string[] {
  return value !== undefined && isJsonObject(value) ? Object.keys(value) : [];
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return value !== undefined && isJsonObject(value) ? value[name] : undefined;
}

function short(value: Json): string {
  const text = valueText(value);
  return text.length > CELL_CHARS ? `${text.slice(0, CELL_CHARS)}…` : text;
}

function countText(rows: readonly WorldChange[]): string {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const word = COUNT_WORDS[row.op === 'update' && isSameJson(row.before, row.after) ? 'same' : row.op];
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return Object.values(COUNT_WORDS)
    .flatMap((word) => (counts.has(word) ? [`${counts.get(word) ?? 0} ${word}`] : []))
    .join(', ');
}
