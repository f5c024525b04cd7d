/**
 * Aligns attempts side by side: one column per attempt, rows of matching actions.
 *
 * The method is star alignment (Gusfield, Bull. Math. Biol. 55, 1993): each attempt is aligned separately with the
 * reference, and a new row applies to all attempts. Actions of several attempts between the same two actions of the
 * reference are aligned with each other, so that equal detours share rows.
 */
import type { Action } from './actions.ts';
import type { ComparedAttempt } from './attempt.ts';
import { sameResults } from './differences.ts';
import { pairwise } from './pairwise.ts';
import { type Split, splitOf } from './split.ts';

/** Compared with the row's base. `text`: neither has calls, and their texts differ. */
type CellState = 'same' | 'arguments' | 'text' | 'tool' | 'missing';

export interface Cell {
  readonly state: CellState;
  /** Absent only if the state is `missing`. */
  readonly action?: Action;
  /** Whether the same tools returned other results than in the base. */
  readonly otherResult: boolean;
}

export interface AlignedRow {
  /** The column with which the others are compared: the reference, else the first with an action in this row. */
  readonly base: number;
  /** One per attempt. */
  readonly cells: readonly Cell[];
  /** Whether any cell differs from the base. */
  readonly differs: boolean;
}

export interface Alignment {
  readonly reference: number;
  readonly rows: readonly AlignedRow[];
  /** Where each attempt diverges from the reference; undefined for the reference itself and for equal attempts. */
  readonly splits: readonly (Split | undefined)[];
  /** The first row in which the action of any attempt differs from the reference; undefined if all are equal. */
  readonly firstSplit?: number;
}

/** Actions of a row, by column. */
type Row = Map<number, Action>;

/** Aligns all attempts with the one at `reference`. */
export function align(attempts: readonly ComparedAttempt[], reference: number): Alignment {
  const star = attempts[reference]?.actions ?? [];
  const spine = star.map((action): Row => new Map([[reference, action]]));
  /** Rows before each action of the reference, and after its last. */
  const between = Array.from({ length: star.length + 1 }, (): Row[] => []);
  const splits = attempts.map((attempt, column): Split | undefined => {
    if (column === reference) return undefined;
    const pairs = pairwise(star, attempt.actions);
    const detours = new Map<number, Action[]>();
    let slot = 0;
    for (const { a, b } of pairs) {
      if (a !== undefined) slot = a + 1;
      const action = b === undefined ? undefined : attempt.actions[b];
      if (action === undefined) continue;
      if (a !== undefined) spine[a]?.set(column, action);
      else detours.set(slot, [...(detours.get(slot) ?? []), action]);
    }
    for (const [at, actions] of detours) between[at] = merge(between[at] ?? [], actions, column);
    return splitOf(star, attempt.actions, pairs);
  });
  const rows = between
    .flatMap((opened, index) => [...opened, spine[index] ?? []].flat())
    .map((row) => rowOf(row, attempts.length, reference));
  const firstSplit = rows.findIndex((row) => row.cells.some((cell) => cell.state !== 'same' && cell.state !== 'text'));
  return { reference, rows, splits, ...(firstSplit < 0 ? {} : { firstSplit }) };
}

/** Adds a column to rows: next to an action with the same tools if there is one, else in a new row. */
function merge(rows: readonly Row[], actions: readonly Action[], column: number): Row[] {
  const first = rows.map((row) => firstOf(row)).filter((action) => action !== undefined);
  return pairwise(first, actions).flatMap(({ a, b }): Row[] => {
    const row = a === undefined ? undefined : rows[a];
    const action = b === undefined ? undefined : actions[b];
    if (row === undefined) return action === undefined ? [] : [new Map([[column, action]])];
    if (action === undefined) return [row];
    if (firstOf(row)?.shape !== action.shape) return [row, new Map([[column, action]])];
    return [new Map([...row, [column, action]])];
  });
}

function firstOf(row: Row): Action | undefined {
  return row.values().next().value;
}

function rowOf(row: Row, columns: number, reference: number): AlignedRow {
  const base = row.has(reference) ? reference : Math.min(...row.keys());
  const baseAction = row.get(base);
  const cells = Array.from({ length: columns }, (_, column) => cellOf(row.get(column), baseAction));
  return { base, cells, differs: cells.some((cell) => cell.state !== 'same' || cell.otherResult) };
}

function cellOf(action: Action | undefined, base: Action | undefined): Cell {
  if (action === undefined) return { state: 'missing', otherResult: false };
  if (base === undefined || action === base) return { state: 'same', action, otherResult: false };
  if (action.shape !== base.shape) return { state: 'tool', action, otherResult: false };
  const state =
    action.key !== base.key ? 'arguments' : action.kind === 'text' && action.text !== base.text ? 'text' : 'same';
  return { state, action, otherResult: !sameResults(action, base) };
}
