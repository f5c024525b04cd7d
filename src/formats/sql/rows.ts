/** Reads the rows that `INSERT` statements add to a table, without a database. */
import type { SqlTable } from './ddl.ts';
import { isSql, parenthesized, sqlTokens } from './tokens.ts';
import { type SqlValue, valueOf } from './values.ts';

export interface SqlRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlValue[])[];
  /** Statements that cannot be read, with their index. */
  readonly unread: readonly number[];
}

/**
 * Returns the rows with all columns of the table: those that a statement does not set have their default, and a whole
 * number as key counts up, as in SQLite.
 */
export function insertedRows(table: SqlTable, statements: readonly string[]): SqlRows {
  const columns = table.columns.map(({ name }) => name);
  const keys = table.columns.filter(({ isKey }) => isKey);
  const counter = keys.length === 1 && /^INTEGER$/i.test(keys[0]?.type ?? '') ? keys[0] : undefined;
  const rows: SqlValue[][] = [];
  const unread: number[] = [];
  let last = 0;
  for (const [index, statement] of statements.entries()) {
    const inserted = insertOf(statement);
    if (inserted === undefined) {
      unread.push(index);
      continue;
    }
    const names = (inserted.columns ?? columns).map((name) => name.toLowerCase());
    for (const values of inserted.rows) {
      const row = table.columns.map((column): SqlValue => {
        const at = names.indexOf(column.name.toLowerCase());
        const value = at === -1 ? (column.default ?? null) : (values[at] ?? null);
        return column === counter && value === null ? last + 1 : value;
      });
      if (counter !== undefined) {
        const key = row[table.columns.indexOf(counter)];
        if (typeof key === 'number') last = Math.max(last, key);
      }
      rows.push(row);
    }
  }
  return { columns, rows, unread };
}

function insertOf(
  statement: string,
): { readonly columns: readonly string[] | undefined; readonly rows: readonly (readonly SqlValue[])[] } | undefined {
  const tokens = sqlTokens(statement);
  const into = tokens.findIndex((token) => isSql(token, 'INTO'));
  const start = tokens.findIndex((token) => isSql(token, 'VALUES'));
  if (into === -1 || start === -1) return undefined;
  const open = tokens.findIndex((token, index) => index > into && index < start && isSql(token, '('));
  const columns = open === -1 ? undefined : parenthesized(tokens, open)?.items.map(([first]) => first?.text ?? '');
  const rows: SqlValue[][] = [];
  for (let at = start + 1; ; ) {
    const group = parenthesized(tokens, at);
    if (group === undefined) break;
    rows.push(group.items.map((item) => valueOf(item, statement)));
    at = isSql(tokens[group.next], ',') ? group.next + 1 : group.next;
  }
  return rows.length === 0 ? undefined : { columns, rows };
}
