/** The rows of the world that checks compare, and the steps that changed them or tried to. */
import { isJsonObject, isSameJson, type Json } from '../../../../src/common/json.ts';
import { checkText } from '../../../../src/trace/checkRows.ts';
import type { ToolSpan } from '../../../../src/trace/model/spans.ts';
import type { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { Check } from '../../../../src/trace/schema.ts';
import { type DiffSpan, inlineDiff } from '../../../values/inlineDiff.ts';

export interface CheckedRow {
  readonly table: string;
  /** null: a row that should have been added. */
  readonly key: Json;
  readonly columns: readonly string[];
  readonly lines: readonly {
    readonly kind: 'expected' | 'actual' | 'start';
    /** One per column; undefined where the record has no value. */
    readonly cells: readonly (readonly DiffSpan[] | undefined)[];
  }[];
}

/** Returns the row of a check with its expected, actual, and initial values; undefined if it is not about a row. */
export function checkedRow({ row, expected, actual }: Check): CheckedRow | undefined {
  if (row === undefined) return undefined;
  const [start, wanted, found] = [row.before, expected, actual].map((value) =>
    value !== undefined && isJsonObject(value) ? value : undefined,
  );
  // Columns that a check does not compare keep their initial value.
  const columns = [...new Set([start, wanted, found].flatMap((value) => Object.keys(value ?? {})))];
  const cellsOf = (
    value: typeof start,
    other: typeof start,
    side: 'before' | 'after',
  ): CheckedRow['lines'][0]['cells'] =>
    columns.map((column) => {
      const cell = value?.[column] ?? start?.[column];
      if (value === undefined || cell === undefined) return undefined;
      const held = other?.[column] ?? start?.[column];
      if (wanted?.[column] === undefined || isSameJson(cell, held)) return [{ text: checkText(cell), differs: false }];
      if (held === undefined || other === undefined) return [{ text: checkText(cell), differs: true }];
      const [before, after] = side === 'before' ? [cell, held] : [held, cell];
      return inlineDiff(checkText(before), checkText(after))[side];
    });
  return {
    table: row.table,
    key: row.key,
    columns,
    lines: [
      { kind: 'expected', cells: cellsOf(wanted, found, 'before') },
      { kind: 'actual', cells: cellsOf(found, wanted, 'after') },
      ...(start === undefined
        ? []
        : [
            {
              kind: 'start' as const,
              cells: columns.map((column) => {
                const cell = start[column];
                return cell === undefined ? undefined : [{ text: checkText(cell), differs: false }];
              }),
            },
          ]),
    ],
  };
}

/** Returns the calls that changed a row, in order. */
export function changesOf(model: TrajectoryModel, { table, key }: CheckedRow): ToolSpan[] {
  const spans = model.diffs
    .filter(({ data }) => data.changes.some((change) => change.table === table && isSameKey(change.key, key)))
    .flatMap(({ span }) => {
      const call = span === undefined ? undefined : model.span(span);
      return call?.kind === 'tool' ? [call] : [];
    });
  return [...new Set(spans)];
}

/** Returns the last failed call with the key of a row among its arguments. */
export function attemptAt(model: TrajectoryModel, { key }: CheckedRow): ToolSpan | undefined {
  return model.tools.findLast(
    (span) =>
      span.start.data.effect !== 'pure' &&
      span.end?.data.error !== undefined &&
      Object.values(objectOf(model.argumentsOf(span).value)).some((value) => isSameKey(value, key)),
  );
}

function objectOf(value: Json): Readonly<Record<string, Json>> {
  return isJsonObject(value) ? value : {};
}

/** A key is sometimes a number in the record and a text in the call. */
function isSameKey(a: Json, b: Json): boolean {
  if (a === null || b === null) return false;
  if (typeof a === 'object' || typeof b === 'object') return isSameJson(a, b);
  return String(a) === String(b); // a verifier may write a number as text
}
