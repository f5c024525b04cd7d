/** The checks of a score as rows of a table: expected and actual values, failed ones first. */
import { isJsonObject, isSameJson, type Json } from '../common/json.ts';
import type { Check, EventData } from './schema.ts';

export interface CheckRow {
  /** Index of its check in the score; a check of a row of the world has a row for each column. */
  readonly check: number;
  readonly name: string;
  /** Column of the world's row. */
  readonly field?: string;
  /** null: a figure that is neither. */
  readonly passed: boolean | null;
  /** Absent where the record has no value. */
  readonly expected?: string;
  readonly actual?: string;
}

/** Returns the checks of a score. Parts that are only figures are checks without an expected value. */
export function checksOf({ checks, parts }: Pick<EventData['score'], 'checks' | 'parts'>): readonly Check[] {
  return checks ?? Object.entries(parts ?? {}).map(([name, value]) => ({ name, passed: value > 0, actual: value }));
}

/** Returns the rows of checks, failed ones first. */
export function checkRows(checks: readonly Check[]): CheckRow[] {
  const rows = checks.flatMap((check, index) => rowsOf(check, index));
  return [...rows.filter(({ passed }) => passed === false), ...rows.filter(({ passed }) => passed !== false)];
}

function rowsOf({ name, passed, expected, actual }: Check, check: number): CheckRow[] {
  if (!isJsonObject(expected) || (actual !== undefined && !isJsonObject(actual)))
    return [{ check, name, passed, ...textOf('expected', expected), ...textOf('actual', actual) }];
  return Object.keys({ ...expected, ...actual }).map((field) => ({
    check,
    name,
    field,
    passed: passed || isSameJson(expected[field], actual?.[field]),
    ...textOf('expected', expected[field]),
    ...textOf('actual', actual?.[field]),
  }));
}

function textOf<K extends string>(key: K, value: Json | undefined): Partial<Record<K, string>> {
  return value === undefined ? {} : ({ [key]: checkText(value) } as Record<K, string>);
}

/** Returns a value of a check as text: strings as they are, lists with commas, everything else as JSON. */
export function checkText(value: Json): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return JSON.stringify(value);
  return value.length === 0 ? 'none' : value.map(checkText).join(', ');
}
