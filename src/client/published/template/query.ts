/** Runs a query on a SQLite file that may be somebody else's. It can only read. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { z } from 'zod';
import type { Json } from '../../../common/json.ts';
import { BLANK } from './build.ts';

export const queryRequest = z.object({
  file: z.string(),
  query: z.string(),
  /** How many characters the rows may have. */
  chars: z.number(),
});
export type QueryRequest = z.infer<typeof queryRequest>;

export const queryResult = z.object({
  rows: z.array(z.record(z.string(), z.json())),
  /** Whether there are more rows, which are left out. */
  more: z.boolean(),
});
export type QueryResult = z.infer<typeof queryResult>;

/** Statements of other kinds read nothing, or could open other files. */
const KINDS = /^(?:select|with|values)\b/i;

/** Throws if the query is not a single one that reads, or fails. */
export function runQuery(
  { file, query, chars }: QueryRequest,
  open: (file: string) => DatabaseSync,
): z.infer<typeof queryResult> {
  const sql = query.replace(BLANK, '');
  if (!KINDS.test(sql)) throw new Error('it is not a SELECT statement');
  const database = open(file);
  try {
    // Views of a file that is not trusted call no functions with effects.
    database.exec('PRAGMA trusted_schema = OFF');
    const prepared = database.prepare(sql);
    // SQLite prepares only the first one.
    if (sql.slice(prepared.sourceSQL.length).replace(BLANK, '') !== '') throw new Error('more than one statement');
    prepared.setReadBigInts(true);
    const rows: Record<string, Json>[] = [];
    let room = chars;
    for (const values of prepared.iterate()) {
      const row = Object.fromEntries(Object.entries(values).map(([column, value]) => [column, jsonOf(value)]));
      room -= JSON.stringify(row).length;
      if (room < 0) return { rows, more: true };
      rows.push(row);
    }
    return { rows, more: false };
  } finally {
    database.close();
  }
}

/** Returns a value as a row of a world has it (see `formats/sqlite/pages.ts`). */
function jsonOf(value: SQLOutputValue): Json {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : value > 0 ? 'inf' : '-inf';
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value;
}
