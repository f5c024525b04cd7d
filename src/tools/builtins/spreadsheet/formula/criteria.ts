/** Functions with criteria, such as COUNTIF, and lookup functions. */
import { CellError, type Value } from '../cells.ts';
import type { Result } from './results.ts';
import { numberOf } from './text.ts';

const rowsOf = (result: Result | undefined): readonly (readonly Value[])[] =>
  Array.isArray(result) ? (result as readonly (readonly Value[])[]) : [[(result ?? null) as Value]];
const first = (result: Result | undefined): Value => rowsOf(result)[0]?.[0] ?? null;

/** Converts wildcards: `*` matches any text, `?` any character; `~` escapes them. */
export function wildcards(pattern: string, whole: boolean): RegExp {
  const source = pattern.replaceAll(/~[*?~]|[\s\S]/g, (part) =>
    part.length === 2
      ? `\\${part.slice(1)}`
      : part === '*'
        ? '[\\s\\S]*'
        : part === '?'
          ? '[\\s\\S]'
          : part.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'),
  );
  return new RegExp(whole ? `^${source}$` : source, 'iu');
}

function criterion(target: Value): (value: Value) => boolean {
  if (target instanceof CellError) return (value) => value instanceof CellError && value.name === target.name;
  if (typeof target === 'boolean') return (value) => value === target;
  if (typeof target !== 'string') return equals(target ?? 0);
  const [, sign = '', text = ''] = /^(<>|<=|>=|=|<|>)?([\s\S]*)$/.exec(target) ?? [];
  const number = numberOf(text);
  const equalsTarget = (): ((value: Value) => boolean) => {
    if (text === '') return (value) => value === null || (value === '' && sign === '');
    if (number !== undefined) return equals(number);
    if (/^(true|false)$/i.test(text)) return (value) => value === (text.toLowerCase() === 'true');
    const pattern = wildcards(text, true);
    return (value) => typeof value === 'string' && pattern.test(value);
  };
  if (sign === '' || sign === '=') return equalsTarget();
  if (sign === '<>') {
    const same = equalsTarget();
    return (value) => !same(value);
  }
  return (value) => {
    const by =
      number !== undefined && typeof value === 'number'
        ? value - number
        : number === undefined && typeof value === 'string'
          ? value.localeCompare(text, 'en', { sensitivity: 'accent' })
          : Number.NaN;
    return sign === '<' ? by < 0 : sign === '>' ? by > 0 : sign === '<=' ? by <= 0 : by >= 0;
  };
}

function equals(number: number): (value: Value) => boolean {
  return (value) => value === number || (typeof value === 'string' && numberOf(value) === number);
}

/** Returns the values whose corresponding cells meet all criteria; undefined if areas differ in size. */
function matching(values: Result | undefined, pairs: readonly Result[]): Value[] | undefined {
  const from = rowsOf(values);
  const tests: { area: readonly (readonly Value[])[]; fits: (value: Value) => boolean }[] = [];
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const area = rowsOf(pairs[i]);
    if (area.length !== from.length || area[0]?.length !== from[0]?.length) return undefined;
    tests.push({ area, fits: criterion(first(pairs[i + 1])) });
  }
  return from.flatMap((row, r) => row.filter((_, c) => tests.every(({ area, fits }) => fits(area[r]?.[c] ?? null))));
}

type Fold = (numbers: readonly number[]) => Value;
const SUM: Fold = (numbers) => numbers.reduce((sum, number) => sum + number, 0);
const AVERAGE: Fold = (numbers) =>
  numbers.length === 0 ? new CellError('#DIV/0!') : Number(SUM(numbers)) / numbers.length;
const MAX: Fold = (numbers) => numbers.reduce((max, number) => Math.max(max, number), numbers[0] ?? 0);
const MIN: Fold = (numbers) => numbers.reduce((min, number) => Math.min(min, number), numbers[0] ?? 0);

function foldMatching(fold: Fold, values: Result | undefined, pairs: readonly Result[]): Value {
  const found = matching(values, pairs);
  if (found === undefined || pairs.length < 2) return new CellError('#VALUE!');
  const wrong = found.find((value) => value instanceof CellError);
  return wrong ?? fold(found.filter((value) => typeof value === 'number'));
}

function counted(pairs: readonly Result[]): Value {
  return matching(pairs[0], pairs)?.length ?? new CellError('#VALUE!');
}

function place(values: readonly Value[], target: Value, mode: number): number {
  if (mode === 0) {
    const pattern = typeof target === 'string' ? wildcards(target, true) : undefined;
    return values.findIndex((value) =>
      pattern === undefined ? value === (target ?? 0) : typeof value === 'string' && pattern.test(value),
    );
  }
  let found = -1;
  for (const [index, value] of values.entries()) {
    if (typeof value !== typeof target) continue;
    const by =
      typeof value === 'string' && typeof target === 'string'
        ? value.localeCompare(target, 'en', { sensitivity: 'accent' })
        : Number(value) - Number(target);
    if (by * mode > 0) break; // sorted: no later value can match
    found = index;
  }
  return found;
}

function across(result: Result | undefined): readonly Value[] {
  const rows = rowsOf(result);
  return rows.length === 1 ? (rows[0] ?? []) : rows.map(([value = null]) => value);
}

/** Looks up a value; the match is approximate unless `exact` is FALSE or 0. */
function lookup(target: Value, table: Result | undefined, at: Value, exact: Value, byRow: boolean): Value {
  const rows = rowsOf(table);
  const keys = byRow ? rows.map(([key = null]) => key) : (rows[0] ?? []);
  const index = Math.trunc(Number(at)) - 1;
  if (index < 0) return new CellError('#VALUE!');
  if (index >= (byRow ? (rows[0]?.length ?? 0) : rows.length)) return new CellError('#REF!');
  const found = place(keys, target, exact === false || exact === 0 ? 0 : 1);
  if (found === -1) return new CellError('#N/A');
  return (byRow ? rows[found]?.[index] : rows[index]?.[found]) ?? 0;
}

function indexed(table: Result | undefined, row: Value, column: Value | undefined): Result {
  const rows = rowsOf(table);
  const [height, width] = [rows.length, rows[0]?.length ?? 0];
  const flat = height === 1 && column === undefined;
  const r = flat ? 1 : Math.trunc(Number(row ?? 0));
  const c = flat
    ? Math.trunc(Number(row ?? 0))
    : column === undefined && width === 1
      ? 1
      : Math.trunc(Number(column ?? 0));
  if (!(r >= 0 && c >= 0)) return new CellError('#VALUE!');
  if (r > height || c > width) return new CellError('#REF!');
  const selected = r === 0 ? rows : [rows[r - 1] ?? []];
  const cells = c === 0 ? selected : selected.map((cells) => [cells[c - 1] ?? null]);
  return r > 0 && c > 0 ? (cells[0]?.[0] ?? null) : cells;
}

export const CRITERIA: Readonly<Record<string, (...args: readonly Result[]) => Result>> = {
  COUNTIF: (...args) => counted(args),
  COUNTIFS: (...args) => counted(args),
  SUMIF: (area = null, target = null, values = area) => foldMatching(SUM, values, [area, target]),
  AVERAGEIF: (area = null, target = null, values = area) => foldMatching(AVERAGE, values, [area, target]),
  SUMIFS: (values, ...pairs) => foldMatching(SUM, values, pairs),
  AVERAGEIFS: (values, ...pairs) => foldMatching(AVERAGE, values, pairs),
  MAXIFS: (values, ...pairs) => foldMatching(MAX, values, pairs),
  MINIFS: (values, ...pairs) => foldMatching(MIN, values, pairs),
  MATCH: (target, area, mode = 1) => {
    const found = place(across(area), first(target), Math.sign(Number(first(mode))));
    return found === -1 ? new CellError('#N/A') : found + 1;
  },
  VLOOKUP: (target, table, at, exact = true) => lookup(first(target), table, first(at), first(exact), true),
  HLOOKUP: (target, table, at, exact = true) => lookup(first(target), table, first(at), first(exact), false),
  INDEX: (...args) => indexed(args[0], first(args[1]), args.length > 2 ? first(args[2]) : undefined),
};
