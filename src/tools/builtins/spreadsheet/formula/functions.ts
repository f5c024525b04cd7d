/** The functions of sheets. */
import * as formulajs from '@formulajs/formulajs';
import { CellError, type Value } from '../cells.ts';
import type { Result } from './evaluate.ts';

/** Those that compute nothing, or something else than their name says in a sheet. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'INDIRECT',
  'OFFSET',
  'CELL',
  'INFO',
  'SHEET',
  'SHEETS',
  'HYPERLINK',
  'WEBSERVICE',
  'RTD',
  'ISREF',
  'ISFORMULA',
  'FORMULATEXT',
  'UTILS',
  'DEFAULT',
]);

type Fn = (...args: readonly unknown[]) => unknown;

const FUNCTIONS: ReadonlyMap<string, Fn> = new Map([
  ...Object.entries(formulajs as Readonly<Record<string, unknown>>).flatMap(([name, value]) =>
    functionsOf(name, value),
  ),
  ...Object.entries({ XLOOKUP: xlookup, UNIQUE: unique } as Readonly<Record<string, Fn>>),
]);

/** What functions were called before there were two of them. */
const OLD_NAMES: Readonly<Record<string, string>> = {
  RANK: 'RANK.EQ',
  STDEV: 'STDEV.S',
  VAR: 'VAR.S',
  MODE: 'MODE.SNGL',
  PERCENTILE: 'PERCENTILE.INC',
  QUARTILE: 'QUARTILE.INC',
  PERCENTRANK: 'PERCENTRANK.INC',
  NORMDIST: 'NORM.DIST',
  NORMINV: 'NORM.INV',
  NORMSDIST: 'NORM.S.DIST',
  NORMSINV: 'NORM.S.INV',
  CONFIDENCE: 'CONFIDENCE.NORM',
  COVAR: 'COVARIANCE.P',
};

/** `CEILING` is a function, `CEILING.MATH` a member of it; `STDEV` has members only. */
function functionsOf(name: string, value: unknown): [string, Fn][] {
  if (
    name !== name.toUpperCase() ||
    LEFT_OUT.has(name) ||
    value === null ||
    (typeof value !== 'function' && typeof value !== 'object')
  )
    return [];
  const members = Object.entries(value).flatMap(([member, inner]: [string, unknown]) =>
    functionsOf(member, inner).map(([of, fn]): [string, Fn] => [`${name}.${of}`, fn]),
  );
  return typeof value === 'function' ? [[name, value as Fn], ...members] : members; // what else a function may be
}

function known(name: string): Fn | undefined {
  return FUNCTIONS.get(name) ?? FUNCTIONS.get(OLD_NAMES[name] ?? '');
}

const rowsOf = (value: unknown): unknown[][] =>
  Array.isArray(value) ? value.map((row: unknown) => (Array.isArray(row) ? (row as unknown[]) : [row])) : [[value]];
const same = (left: unknown, right: unknown): boolean =>
  typeof left === 'string' && typeof right === 'string' ? left.toLowerCase() === right.toLowerCase() : left === right;

/** The exact match only, from the beginning. */
function xlookup(
  wanted: unknown,
  within: unknown,
  from: unknown,
  otherwise: unknown = new Error('#N/A'),
  match: unknown = 0,
  direction: unknown = 1,
): unknown {
  if (match !== 0 || direction !== 1) return new Error('#VALUE!');
  const keys = rowsOf(within);
  const results = rowsOf(from);
  const across = keys.length === 1;
  const index = (across ? (keys[0] ?? []) : keys.map(([key]) => key)).findIndex((key) => same(key, wanted));
  if (index === -1) return otherwise;
  return across ? results.map((row) => [row[index]]) : [results[index] ?? []];
}

function unique(table: unknown): unknown {
  const rows = rowsOf(table);
  return rows.filter(
    (row, index) => rows.findIndex((other) => other.every((value, column) => same(value, row[column]))) === index,
  );
}

export function isFunction(name: string): boolean {
  return known(name) !== undefined;
}

/** Errors among the arguments go through, but for functions that count or look for them. */
const TAKES_ERRORS: ReadonlySet<string> = new Set([
  'ISERR',
  'ISTEXT',
  'ISNUMBER',
  'ISLOGICAL',
  'ISNONTEXT',
  'ERROR.TYPE',
  'COUNT',
  'COUNTA',
  'COUNTBLANK',
  'COUNTIF',
  'COUNTIFS',
  'AGGREGATE',
  'TYPE',
  'INDEX',
  'VLOOKUP',
  'HLOOKUP',
  'LOOKUP',
  'XLOOKUP',
  'MATCH',
  'SUMIF',
  'SUMIFS',
  'AVERAGEIF',
  'AVERAGEIFS',
]);

/** Those that compare texts, and give numbers only: to a sheet `A` and `a` are the same. */
const WITHOUT_CASE: ReadonlySet<string> = new Set([
  'SUMIF',
  'SUMIFS',
  'COUNTIF',
  'COUNTIFS',
  'AVERAGEIF',
  'AVERAGEIFS',
  'MAXIFS',
  'MINIFS',
  'MATCH',
]);

/** Days from the beginning of sheets' time to that of JavaScript's. */
const EPOCH_DAYS = 25_569;
const DAY_MS = 86_400_000;

export function callFunction(name: string, args: readonly Result[]): Result {
  const fn = known(name);
  if (fn === undefined) return new CellError('#NAME?');
  if (!TAKES_ERRORS.has(name)) {
    const wrong = args.flat(2).find((value) => value instanceof CellError);
    if (wrong !== undefined) return wrong;
  }
  try {
    const told = (value: Value): unknown =>
      typeof value === 'string' && WITHOUT_CASE.has(name) ? value.toLowerCase() : given(value);
    return converted(
      fn(
        ...args.map((arg) =>
          Array.isArray(arg) ? arg.map((row: readonly Value[]) => row.map(told)) : told(arg as Value),
        ),
      ),
    );
  } catch (error) {
    return errorValue(error);
  }
}

/** Errors as that library has them. */
function given(value: Value): unknown {
  return value instanceof CellError ? new Error(value.name) : value;
}

function converted(value: unknown): Result {
  if (Array.isArray(value)) return value.map((row: unknown) => (Array.isArray(row) ? row.map(one) : [one(row)]));
  return one(value);
}

function one(value: unknown): Value {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? value : new CellError('#NUM!');
    case 'string':
    case 'boolean':
      return value;
    default:
      if (value instanceof Error) return errorValue(value);
      // Dates are numbers of days in a sheet; the library makes them in local time.
      if (value instanceof Date) return (value.getTime() - value.getTimezoneOffset() * 60_000) / DAY_MS + EPOCH_DAYS;
      return value === null || value === undefined ? null : new CellError('#VALUE!');
  }
}

function errorValue(error: unknown): CellError {
  const name = error instanceof Error ? error.message : '';
  return new CellError(/^#[A-Z0-9/?!]+$/.test(name) ? name : '#VALUE!');
}
