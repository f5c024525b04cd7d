import { StudioError } from '../../common/errors.ts';
import type { Row } from './sql.ts';

/** Reads a column of a row. A value of another type means that the store is damaged. */
export function int(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === 'number') return value;
  throw damaged(column, value);
}

export function intOr<T>(row: Row, column: string, otherwise: T): number | T {
  return row[column] === null ? otherwise : int(row, column);
}

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === 'string') return value;
  throw damaged(column, value);
}

export function textOr<T>(row: Row, column: string, otherwise: T): string | T {
  return row[column] === null ? otherwise : text(row, column);
}

export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (value instanceof Uint8Array) return value;
  throw damaged(column, value);
}

export function bytesOr<T>(row: Row, column: string, otherwise: T): Uint8Array | T {
  return row[column] === null ? otherwise : bytes(row, column);
}

/**
 * Encodes user strings (task IDs, breakpoints, reasons) as JSON text: text columns support neither NUL (PostgreSQL) nor
 * lone surrogates (both).
 */
export function quote(value: string): string {
  return JSON.stringify(value);
}

export function unquote(quoted: string): string {
  const value: unknown = JSON.parse(quoted);
  if (typeof value === 'string') return value;
  throw damaged('a quoted text', value);
}

/** Parses JSON that this store has validated and written itself. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it names what was written there
export function stored<T>(json: string): T {
  try {
    return JSON.parse(json) as T; // written by this store as a T
  } catch (error) {
    throw new StudioError('storage', 'The store is damaged: a record cannot be read.', {
      hint: RESTORE,
      cause: error,
    });
  }
}

export const RESTORE = 'Restore it from a backup, or move it away and start with a new one.';

function damaged(column: string, value: unknown): StudioError {
  return new StudioError(
    'storage',
    `The store is damaged: ${column} holds a ${value === null ? 'null' : typeof value}.`,
    { hint: RESTORE },
  );
}
