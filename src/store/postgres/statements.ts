import type { QueryConfig } from 'pg';
import type { ColumnKind, InsertMode, Table, Value } from '../sql/sql.ts';

const TYPES: Readonly<Record<ColumnKind, string>> = { int: 'bigint', text: 'text', bytes: 'bytea' };
/** Statements for more rows are not prepared: they are rare, and all different. */
const PREPARED_ROWS = 64;
/** PostgreSQL supports 65,535 values per statement; this is safe for any table. */
export const ROWS_AT_ONCE = 1000;

interface PreparedStatement {
  readonly name: string;
  readonly text: string;
}

const prepared = new Map<string, PreparedStatement>();

/**
 * Converts a statement with `?` placeholders for PostgreSQL; prepared once per connection. String literals contain no
 * `?`.
 */
export function statement(sql: string, values: readonly Value[]): QueryConfig {
  let found = prepared.get(sql);
  if (found === undefined) {
    let n = 0;
    found = { name: `s${prepared.size}`, text: sql.replace(/\?/g, () => `$${++n}`) };
    prepared.set(sql, found);
  }
  return { ...found, values: values.map(bound) };
}

export function insertStatement(
  table: Table,
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
  how: InsertMode | undefined,
): QueryConfig {
  const sql =
    `INSERT INTO ${table.name} (${columns.join(', ')})${how === 'ids' ? ' OVERRIDING SYSTEM VALUE' : ''} VALUES ` +
    `${tuples(table, columns, rows.length)}${how === 'ignore' ? ' ON CONFLICT DO NOTHING' : ''}`;
  return sized(sql, rows);
}

/** Builds an update of many rows, identified by the first of `columns`. */
export function updateStatement(
  table: Table,
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
): QueryConfig {
  const [key = '', ...set] = columns;
  const sql = `UPDATE ${table.name} SET ${set.map((column) => `${column} = v.${column}`).join(', ')}
    FROM (VALUES ${tuples(table, columns, rows.length)}) AS v (${columns.join(', ')})
    WHERE ${table.name}.${key} = v.${key}`;
  return sized(sql, rows);
}

function sized(sql: string, rows: readonly (readonly Value[])[]): QueryConfig {
  if (rows.length <= PREPARED_ROWS) return statement(sql, rows.flat());
  let n = 0;
  return { text: sql.replace(/\?/g, () => `$${++n}`), values: rows.flat().map(bound) };
}

/** `(?::bigint, ?::text), (?, ?)`: the types of the first row are those of all. */
function tuples(table: Table, columns: readonly string[], rows: number): string {
  const first = `(${columns.map((column) => `?::${TYPES[table.columns[column] ?? 'text']}`).join(', ')})`;
  const more = `, (${columns.map(() => '?').join(', ')})`;
  return first + more.repeat(rows - 1);
}

/**
 * Converts a value. Stored texts never contain NUL (see `quote`), so such a value is only used in searches without a
 * match.
 */
function bound(value: Value): unknown {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
  return value;
}
