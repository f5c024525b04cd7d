/**
 * Attempts side by side, step by step: one column each, rows of actions that belong together.
 *
 * The method is star alignment (Gusfield, Bull. Math. Biol. 55, 1993): each attempt is aligned with the reference by
 * itself, and a row once opened stays open for all. What several attempts did between the same two actions of the
 * reference is aligned among them in turn, so that equal detours share rows.
 */

import type { Action } from './actions.ts';
import type { ComparedAttempt } from './attempt.ts';
import { sameResults } from './differences.ts';
import { pairwise } from './pairwise.ts';
import { type Split, splitOf } from './split.ts';

/** Against the row's base. `text`: neither called anything, and their words differ. */
type CellState = 'same' | 'arguments' | 'text' | 'tool' | 'missing';

export interface Cell {
  readonly state: CellState;
  /** Absent exactly when the state is `missing`. */
  readonly action?: Action;
  /** The same tools gave something else than the base's did. */
  readonly otherResult: boolean;
}

export interface AlignedRow {
  /** The column the others are held against: the reference, else the first that has an action here. */
  readonly base: number;
  /** One per attempt. */
  readonly cells: readonly Cell[];
  /** Whether some cell is not the same as the base. */
  readonly differs: boolean;
}

export interface Alignment {
  readonly reference: number;
  readonly rows: readonly AlignedRow[];
  /** Of each attempt from the reference; undefined for the reference itself and for those that did the same. */
  readonly splits: readonly (Split | undefined)[];
  /** The first row in which an action of some attempt is not the reference's; undefined when all did the same. */
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
    for (const [at, actions] of detours) between[at] = merged(between[at] ?? [], actions, column);
    return splitOf(star, attempt.actions, pairs);
  });
  const rows = between
    .flatMap((opened, index) => [...opened, spine[index] ?? []].flat())
    .map((row) => rowOf(row, attempts.length, reference));
  const firstSplit = rows.findIndex((row) => row.cells.some((cell) => cell.state !== 'same' && cell.state !== 'text'));
  return { reference, rows, splits, ...(firstSplit < 0 ? {} : { firstSplit }) };
}

/** Rows with one more column: beside an action with the same tools where there is one, else in a row of its own. */
function merged(rows: readonly Row[], actions: readonly Action[], column: number): Row[] {
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
  const held = row.get(base);
  const cells = Array.from({ length: columns }, (_, column) => cellOf(row.get(column), held));
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
