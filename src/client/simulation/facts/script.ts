/** Runs a script that creates a database, in memory. Statements that could read or write other files are refused. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { errorText } from '../../../common/errors.ts';
import type { Json } from '../../../common/json.ts';
import { plural } from '../../../common/text.ts';
import type { SourceTable } from '../../../config/facts/pages.ts';
import type { Query, QueryResult } from '../../../config/facts/truth.ts';

export type OpenDatabase = (file: string) => DatabaseSync;

/** Tables, or what is wrong with a line of the script. */
export type ScriptResult =
  | { readonly tables: readonly SourceTable[] }
  | { readonly wrong: string; readonly line: number };

/** More text than the rows of a world have. */
export const MAX_FACT_CHARS = 32 * 1024 * 1024;
/** Pages of a database: 256 MB. */
const MAX_PAGES = 65_536;
const MAX_RESULT_ROWS = 1_000;

const PIECES = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|;|[^'"`[;/-]+|[\s\S]/g;
const BLANK = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))*/;
const ALLOWED =
  /^(?:create\s+(?:table|(?:unique\s+)?index)|alter\s+table|drop\s+table|insert|replace|update|delete|with)\b/i;
/** What dumps have around their statements. */
const IGNORED = /^(?:pragma|begin|commit|end|analyze)\b/i;
const READS = /^(?:select|with|values)\b/i;

/** Returns the tables that a script creates. */
export function runScript(script: string, open: OpenDatabase): ScriptResult {
  const database = openEmpty(open);
  try {
    let line = 1;
    for (const statement of statementsOf(script)) {
      const sql = statement.replace(BLANK, '');
      const at = line + linesIn(statement.slice(0, statement.length - sql.length));
      line += linesIn(statement);
      if (sql === '' || IGNORED.test(sql)) continue;
      if (!ALLOWED.test(sql)) return { wrong: 'only tables, indexes, and rows can be created here', line: at };
      try {
        database.exec(sql);
      } catch (error) {
        return { wrong: errorText(error), line: at };
      }
    }
    const found = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
      .all();
    return { tables: found.map(({ name }) => tableOf(database, String(name))) };
  } finally {
    database.close();
  }
}

/** Returns what queries return from tables. */
export function runQueries(
  tables: readonly SourceTable[],
  queries: readonly Query[],
  open: OpenDatabase,
): QueryResult[] {
  const database = openEmpty(open);
  try {
    for (const { name, columns, rows } of tables) {
      const defined = columns.map((column) => `${quoted(column.name)} ${column.type.replaceAll(/[^A-Za-z ]/g, '')}`);
      database.exec(`CREATE TABLE ${quoted(name)} (${defined.join(', ')})`);
      const insert = database.prepare(`INSERT INTO ${quoted(name)} VALUES (${columns.map(() => '?').join(', ')})`);
      for (const row of rows) insert.run(...columns.map((_, index) => sqlValue(row[index] ?? null)));
    }
    database.exec('PRAGMA query_only = ON');
    return queries.map((query) => {
      try {
        return runQuery(database, query);
      } catch (error) {
        return { error: errorText(error) };
      }
    });
  } finally {
    database.close();
  }
}

function runQuery(database: DatabaseSync, { sql: written, values }: Query): QueryResult {
  const [first = '', ...others] = [...statementsOf(written)].filter((each) => each.replace(BLANK, '') !== '');
  const sql = first.replace(BLANK, '');
  if (others.length > 0) return { error: 'it has more than one statement' };
  if (!READS.test(sql)) return { error: 'it is not a SELECT' };
  const prepared = database.prepare(sql);
  prepared.setReadBigInts(true);
  prepared.setReturnArrays(true);
  const rows: Json[][] = [];
  for (const row of prepared.iterate(...values) as Iterable<unknown>) {
    if (rows.length === MAX_RESULT_ROWS) return { error: `it returns more than ${plural(MAX_RESULT_ROWS, 'row')}` };
    rows.push((row as SQLOutputValue[]).map(jsonValue)); // `setReturnArrays`
  }
  return { columns: prepared.columns().map(({ name }) => name), rows };
}

function openEmpty(open: OpenDatabase): DatabaseSync {
  const database = open(':memory:');
  database.exec(`PRAGMA foreign_keys = OFF; PRAGMA max_page_count = ${MAX_PAGES}`);
  return database;
}

/** Yields the statements of a script, each with what is before it. Together, they are the whole script. */
function* statementsOf(script: string): Generator<string> {
  let statement = '';
  for (const [piece] of script.matchAll(PIECES)) {
    if (piece !== ';') statement += piece;
    else {
      yield statement;
      statement = '';
    }
  }
  yield statement;
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}

function tableOf(database: DatabaseSync, name: string): SourceTable {
  const columns = database.prepare('SELECT name, type, pk FROM pragma_table_info(?)').all(name);
  const names = columns.map((column) => String(column['name']));
  const select = database.prepare(`SELECT ${names.map(quoted).join(', ')} FROM ${quoted(name)}`);
  select.setReadBigInts(true);
  select.setReturnArrays(true);
  const keys = columns.filter(({ pk }) => Number(pk) > 0).sort((a, b) => Number(a['pk']) - Number(b['pk']));
  return {
    name,
    columns: columns.map((column) => ({ name: String(column['name']), type: String(column['type']) })),
    key: keys.map((column) => String(column['name'])),
    rows: (select.all() as unknown as SQLOutputValue[][]).map((row) => row.map(jsonValue)), // `setReturnArrays`
  };
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns a value as `formats/sqlite` reads it. */
function jsonValue(value: SQLOutputValue): Json {
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') };
  if (typeof value === 'number' && !Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  return value;
}

function sqlValue(value: Json): SQLInputValue {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === 'object' && 'base64' in value && typeof value['base64'] === 'string')
    return Buffer.from(value['base64'], 'base64');
  return JSON.stringify(value);
}
