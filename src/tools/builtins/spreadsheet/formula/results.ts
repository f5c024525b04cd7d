/** The results of formulas: single values and tables. */
import { CellError, type Value } from '../cells.ts';
import { numberText } from './text.ts';

/** The result of a formula or a part of it: one value, or a table of rows. */
export type Result = Value | readonly (readonly Value[])[];

export const isTable = (result: Result): result is readonly (readonly Value[])[] => Array.isArray(result);

/** Returns the value of a one-cell table. */
export function single(result: Result): Value {
  return isTable(result) ? (result[0]?.[0] ?? null) : result;
}

/** Applies a function to the values at each position of all tables; single values are repeated. */
export function mapTables(results: readonly Result[], act: (values: readonly Value[]) => Value): Result {
  if (!results.some(isTable)) return act(results.map(single));
  const rows = Math.max(...results.map((result) => (isTable(result) ? result.length : 1)));
  const columns = Math.max(...results.map((result) => (isTable(result) ? (result[0]?.length ?? 1) : 1)));
  const pick = (from: Result, row: number, column: number): Value => {
    if (!isTable(from)) return from;
    const values = from[from.length === 1 ? 0 : row];
    const value = values?.[values.length === 1 ? 0 : column];
    return value === undefined ? new CellError('#N/A') : value;
  };
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (__, column) => act(results.map((result) => pick(result, row, column)))),
  );
}

export function asText(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  return typeof value === 'number' ? numberText(value) : value instanceof CellError ? value.name : value;
}
