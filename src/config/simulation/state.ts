/** Writes the initial state of a simulated world as text. */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { Change } from '../../trace/schema/world.ts';
import type { Recording, SeenCall } from './recording.ts';
import { actionOf, observationText } from './text.ts';

/** Longer states are cut off: they would leave no room in the context of a model. */
export const MAX_STATE_CHARS = 400_000;

/** A table with some of its rows. */
export interface StateTable {
  readonly name: string;
  readonly columns: readonly string[];
  /** Columns of its key. */
  readonly key: readonly string[];
  /** Values in the order of the columns. */
  readonly rows: readonly (readonly Json[])[];
  /** How many rows are left out. */
  readonly left: number;
}

/** Returns the text of tables. */
export function tablesText(tables: readonly StateTable[]): string {
  return tables
    .map(({ name, columns, key, rows, left }) => {
      const keys = key.length === 0 ? '' : `. Key: ${key.join(', ')}`;
      const head = `## Table ${name}\nColumns: ${columns.join(', ')}${keys}`;
      const lines = rows.map((values) => JSON.stringify(rowOf(columns, values)));
      const rest = left === 0 ? [] : [`(${left.toLocaleString('en')} more rows)`];
      return [head, ...(lines.length + rest.length === 0 ? ['(no rows)'] : [...lines, ...rest])].join('\n');
    })
    .join('\n\n');
}

/** What a query returns. */
export interface QueryRows {
  readonly rows: readonly JsonObject[];
  /** Whether there are more rows, which are left out. */
  readonly more: boolean;
}

/** Returns the text of a query with its rows. */
export function queryText(query: string, { rows, more }: QueryRows): string {
  const lines = [...rows.map((row) => JSON.stringify(row)), ...(more ? ['(more rows are left out)'] : [])];
  return [`## Query\n${query.trim()}`, ...(lines.length === 0 ? ['(no rows)'] : lines)].join('\n');
}

function rowOf(columns: readonly string[], values: readonly Json[]): JsonObject {
  return Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]));
}

/** Returns the text of the state that a recording ends in: rows that its calls changed, and the calls themselves. */
export function recordedState({ calls, changes }: Recording): string {
  const rows = changedRows(changes);
  const parts = [
    ...(rows.length === 0 ? [] : [`## Changed so far\n${rows.join('\n')}`]),
    `## Calls so far\n${calls.length === 0 ? '(none)' : calls.map(callText).join('\n\n')}`,
  ];
  return parts.join('\n\n');
}

function callText({ name, arguments: args, response }: SeenCall): string {
  return `${actionOf(name, args)}\n${observationText(response)}`;
}

/** Returns the last state of each row or file that was changed. */
function changedRows(changes: readonly Change[]): string[] {
  const last = new Map<string, Change>();
  for (const change of changes) {
    const at = JSON.stringify([change.table ?? null, change.file ?? null, change.key]);
    const known = last.get(at);
    const merged =
      change.op === 'update' && isJsonObject(known?.after) && isJsonObject(change.after)
        ? { ...change, after: { ...known.after, ...change.after } }
        : change;
    last.set(at, merged);
  }
  return [...last.values()].map(({ table, file, key, op, after }) => {
    const where = table ?? file ?? 'state';
    return op === 'delete'
      ? `${where} ${JSON.stringify(key)}: deleted`
      : `${where} ${JSON.stringify(key)}: ${JSON.stringify(after ?? null)}`;
  });
}

/** Returns the text within the bound, and how many characters were cut off. */
export function boundedState(text: string): { readonly text: string; readonly cut: number } {
  const cut = Math.max(0, text.length - MAX_STATE_CHARS);
  if (cut === 0) return { text, cut };
  return { text: `${text.slice(0, MAX_STATE_CHARS)}\n(${cut.toLocaleString('en')} more characters)`, cut };
}
