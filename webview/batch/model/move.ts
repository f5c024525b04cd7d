/** Moves of the grid's cursor by keys. */
import type { GridRow } from './arrange.ts';

/**
 * An attempt, or the head of a group. Identified by task or group instead of position, so that sorting does not move
 * it.
 */
export type Cursor =
  | { readonly on: 'cell'; readonly index: number; readonly attempt: number }
  | { readonly on: 'group'; readonly key: string };

export function sameCursor(a: Cursor | undefined, b: Cursor | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.on === 'group') return b.on === 'group' && a.key === b.key;
  return b.on === 'cell' && a.index === b.index && a.attempt === b.attempt;
}

export function rowOf(rows: readonly GridRow[], cursor: Cursor | undefined): number {
  if (cursor === undefined) return -1;
  return rows.findIndex((row) =>
    cursor.on === 'group'
      ? row.kind === 'group' && row.key === cursor.key
      : row.kind === 'task' && row.index === cursor.index,
  );
}

export type Step = 'up' | 'down' | 'left' | 'right' | 'home' | 'end' | 'first' | 'last' | 'pageUp' | 'pageDown';

/** `attempts`: columns. `page`: visible rows. `column`: the attempt to return to after the head of a group. */
export function move(
  rows: readonly GridRow[],
  cursor: Cursor | undefined,
  step: Step,
  size: { readonly attempts: number; readonly page: number; readonly column: number },
): Cursor | undefined {
  const at = rowOf(rows, cursor);
  const attempt = cursor?.on === 'cell' ? cursor.attempt : size.column;
  if (at < 0)
    return cursorAt(
      rows,
      Math.max(
        0,
        rows.findIndex((row) => row.kind === 'task'),
      ),
      Math.min(attempt, Math.max(1, size.attempts)),
    );
  const clamp = (row: number): number => Math.max(0, Math.min(rows.length - 1, row));
  switch (step) {
    case 'up':
      return cursorAt(rows, clamp(at - 1), attempt);
    case 'down':
      return cursorAt(rows, clamp(at + 1), attempt);
    case 'pageUp':
      return cursorAt(rows, clamp(at - size.page), attempt);
    case 'pageDown':
      return cursorAt(rows, clamp(at + size.page), attempt);
    case 'first':
      return cursorAt(rows, 0, 1);
    case 'last':
      return cursorAt(rows, rows.length - 1, size.attempts);
    case 'left':
      return cursorAt(rows, at, Math.max(1, attempt - 1));
    case 'right':
      return cursorAt(rows, at, Math.min(size.attempts, attempt + 1));
    case 'home':
      return cursorAt(rows, at, 1);
    case 'end':
      return cursorAt(rows, at, size.attempts);
  }
}

export function cursorAt(rows: readonly GridRow[], row: number, attempt: number): Cursor | undefined {
  const at = rows[row];
  if (at === undefined) return undefined;
  return at.kind === 'group' ? { on: 'group', key: at.key } : { on: 'cell', index: at.index, attempt };
}

/**
 * Returns the next matching attempt from the cursor in reading order, or with `direction` −1 the previous one;
 * undefined if there is none.
 */
export function seek(
  rows: readonly GridRow[],
  cursor: Cursor | undefined,
  attempts: number,
  direction: 1 | -1,
  test: (index: number, attempt: number) => boolean,
): Cursor | undefined {
  const at = rowOf(rows, cursor);
  let row = at < 0 ? (direction === 1 ? 0 : rows.length - 1) : at;
  let attempt = at >= 0 && cursor?.on === 'cell' ? cursor.attempt + direction : direction === 1 ? 1 : attempts;
  for (; row >= 0 && row < rows.length; row += direction, attempt = direction === 1 ? 1 : attempts) {
    const here = rows[row];
    if (here?.kind !== 'task') continue;
    for (; attempt >= 1 && attempt <= attempts; attempt += direction)
      if (test(here.index, attempt)) return { on: 'cell', index: here.index, attempt };
  }
  return undefined;
}
