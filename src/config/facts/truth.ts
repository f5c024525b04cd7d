/** The query that gives the expected answers of tasks. */
import { isJsonObject, type Json } from '../../common/json.ts';
import type { FileTask } from '../dataset/columns.ts';
import { placeholdersOf, taskField } from '../prompt.ts';
import { type Word, wordsOf } from './words.ts';

/** A query with the values of its parameters `?`. */
export interface Query {
  readonly sql: string;
  readonly values: readonly (string | number | null)[];
}

/** What a query returned, or why it failed. */
export type QueryResult =
  | { readonly columns: readonly string[]; readonly rows: readonly (readonly Json[])[] }
  | { readonly error: string };

/** Returns the query of a task, or the placeholder that it has no value for. */
export function queryOf(truth: string, task: FileTask): Query | { readonly missing: string } {
  const values: Query['values'][number][] = [];
  let sql = '';
  let end = 0;
  for (const { path, offset, length } of placeholdersOf(truth)) {
    const value = taskField(task, path);
    if (value === undefined) return { missing: path };
    // The whole query is a column of the task.
    if (truth.trim().length === length && typeof value === 'string') return { sql: value, values: [] };
    const isQuoted = truth[offset - 1] === "'" && truth[offset + length] === "'";
    sql += `${truth.slice(end, isQuoted ? offset - 1 : offset)}?`;
    end = offset + length + (isQuoted ? 1 : 0);
    values.push(
      typeof value === 'string' || typeof value === 'number' || value === null ? value : JSON.stringify(value),
    );
  }
  return { sql: sql + truth.slice(end), values };
}

/** Returns the expected answer: a value, a list of them, or objects if there are several columns. */
export function truthOf({ columns, rows }: Exclude<QueryResult, { error: string }>): Json | undefined {
  const [first] = rows;
  if (first === undefined || rows.some((row) => row.every((value) => value === null))) return undefined;
  const values = rows.map((row): Json => {
    const [value = null] = row;
    return columns.length === 1 ? value : Object.fromEntries(columns.map((name, at) => [name, row[at] ?? null]));
  });
  return values.length === 1 ? values[0] : values;
}

/** Returns the words of each value in an answer. */
export function valuesIn(answer: Json): readonly (readonly Word[])[] {
  if (Array.isArray(answer)) return answer.flatMap(valuesIn);
  if (isJsonObject(answer)) return Object.values(answer).flatMap(valuesIn);
  const words = answer === null ? [] : wordsOf(String(answer));
  return words.length === 0 ? [] : [words];
}
