/** Computes the formulas of a workbook, each once. */
import { type Area, CellError, LAST, type Spot, spotName, type Value } from '../cells.ts';
import { callFunction, isFunction } from './functions.ts';
import { type Formula, parseFormula } from './parse.ts';
import { numberOf, numberText } from './text.ts';
import { FormulaError } from './tokens.ts';

/** What a formula gives, or a part of it: one value, or a table of rows. */
export type Result = Value | readonly (readonly Value[])[];

/** The cells that formulas look at. */
export interface Cells {
  readonly sheets: readonly string[];
  /** As far as there is something in it. */
  used(sheet: string): Spot;
  /** What stands in a cell: a value, or a formula without its `=`. */
  cell(sheet: string, spot: Spot): { readonly value: Value } | { readonly formula: string };
  /** What a name of the workbook stands for, as a formula. */
  definedName(name: string): string | undefined;
}

const MAX_CELLS = 1_000_000;
/** Formulas that wait for one another; deeper, the stack would not do. */
const DEEPEST = 400;

export const isTable = (result: Result): result is readonly (readonly Value[])[] => Array.isArray(result);

export class Evaluator {
  readonly #cells: Cells;
  readonly #known = new Map<string, Value>();
  readonly #running = new Set<string>();

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** The value of a cell. Throws FormulaError for what is not understood; errors of the computation are values. */
  value(sheet: string, spot: Spot): Value {
    const cell = this.#cells.cell(sheet, spot);
    if ('value' in cell) return cell.value;
    const key = `${sheet}\0${spotName(spot)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#running.has(key)) throw new FormulaError(`${sheet}!${spotName(spot)} refers to itself.`);
    if (this.#running.size > DEEPEST) throw new FormulaError('Too many formulas wait for one another.');
    this.#running.add(key);
    try {
      const tree = parseFormula(cell.formula);
      const value = only(this.#compute(tree, { sheet, spot }), tree.kind === 'call' ? tree.name : 'The formula');
      this.#known.set(key, value ?? 0);
      return value ?? 0;
    } finally {
      this.#running.delete(key);
    }
  }

  #compute(tree: Formula, at: { readonly sheet: string; readonly spot: Spot }): Result {
    switch (tree.kind) {
      case 'value':
        return tree.value;
      case 'area':
        return this.#area(this.#sheet(tree.sheet ?? at.sheet), tree.area);
      case 'table':
        return tree.rows.map((row) => row.map((item) => single(this.#compute(item, at))));
      case 'negative':
        return each(this.#compute(tree.of, at), 0, (value) => numeric(value, (number) => -number));
      case 'percent':
        return each(this.#compute(tree.of, at), 0, (value) => numeric(value, (number) => number / 100));
      case 'operator':
        return each(this.#compute(tree.left, at), this.#compute(tree.right, at), (left, right) =>
          operate(tree.sign, left, right),
        );
      case 'name': {
        const meaning = this.#cells.definedName(tree.name);
        if (meaning === undefined) throw new FormulaError(`There is no name "${tree.name}" in this workbook.`);
        return this.#compute(parseFormula(meaning), at);
      }
      case 'call':
        return this.#call(tree, at);
    }
  }

  #call(
    { name, args }: Extract<Formula, { kind: 'call' }>,
    at: { readonly sheet: string; readonly spot: Spot },
  ): Result {
    const result = (index: number): Result => {
      const arg = args[index];
      return arg === undefined ? null : this.#compute(arg, at);
    };
    const one = (index: number): Value => {
      const value = result(index);
      if (isTable(value) && !isSmall(value))
        throw new FormulaError(`The function ${name} takes one value where it has several here.`);
      return single(value);
    };
    const [first] = args;
    switch (name) {
      // What is not chosen is not computed: it may be wrong.
      case 'IF': {
        const tests = result(0);
        if (isTable(tests) && !isSmall(tests)) {
          const [yes, no] = [args.length > 1 ? result(1) : true, args.length > 2 ? result(2) : false];
          return mapTables([tests, yes, no], ([test = null, then = null, otherwise = null]) => {
            const truthy = truth(test);
            return truthy instanceof CellError ? truthy : truthy ? then : otherwise;
          });
        }
        const test = truth(single(tests));
        if (test instanceof CellError) return test;
        return test ? (args.length > 1 ? result(1) : true) : args.length > 2 ? result(2) : false;
      }
      case 'IFERROR':
      case 'IFNA': {
        const fails = (value: Value): boolean =>
          value instanceof CellError && (name === 'IFERROR' || value.name === '#N/A');
        const values = result(0);
        if (isTable(values) && !isSmall(values))
          return mapTables([values, result(1)], ([value = null, otherwise = null]) =>
            fails(value) ? otherwise : value,
          );
        const value = single(values);
        return fails(value) ? result(1) : value;
      }
      case 'IFS':
        for (let i = 0; i + 1 < args.length; i += 2) {
          const test = truth(one(i));
          if (test instanceof CellError) return test;
          if (test) return result(i + 1);
        }
        return new CellError('#N/A');
      case 'CHOOSE': {
        const index = one(0);
        return typeof index !== 'number' || index < 1 || index >= args.length
          ? index instanceof CellError
            ? index
            : new CellError('#VALUE!')
          : result(Math.trunc(index));
      }
      case 'SWITCH': {
        const value = one(0);
        for (let i = 1; i + 1 < args.length; i += 2) if (operate('=', value, one(i)) === true) return result(i + 1);
        return args.length % 2 === 0 ? result(args.length - 1) : new CellError('#N/A');
      }
      case 'ISERROR':
        return mapTables([result(0)], ([value]) => value instanceof CellError);
      case 'ISERR':
        return mapTables([result(0)], ([value]) => value instanceof CellError && value.name !== '#N/A');
      case 'ISNA':
        return mapTables([result(0)], ([value]) => value instanceof CellError && value.name === '#N/A');
      case 'ISBLANK':
        return mapTables([result(0)], ([value]) => value === null);
      // These look at where a reference points, not at what is there.
      case 'ROW':
      case 'COLUMN': {
        if (first !== undefined && first.kind !== 'area') return new CellError('#VALUE!');
        const spot = first?.area.from ?? at.spot;
        return name === 'ROW' ? spot.row : spot.column;
      }
      case 'ROWS':
      case 'COLUMNS':
        if (first?.kind !== 'area') break;
        return name === 'ROWS'
          ? first.area.to.row - first.area.from.row + 1
          : first.area.to.column - first.area.from.column + 1;
      default:
    }
    if (!isFunction(name)) throw new FormulaError(`The function ${name} is not supported.`);
    return callFunction(
      name,
      args.map((_, index) => result(index)),
    );
  }

  #sheet(name: string): string {
    const found = this.#cells.sheets.find((sheet) => sheet.toLowerCase() === name.toLowerCase());
    if (found === undefined) throw new FormulaError(`There is no sheet "${name}".`);
    return found;
  }

  #area(sheet: string, { from, to }: Area): Result {
    if (from.row === to.row && from.column === to.column) return this.value(sheet, from);
    const used = this.#cells.used(sheet);
    // A whole column or row ends where the sheet does.
    const last: Spot = {
      row: to.row === LAST.row ? Math.max(used.row, from.row) : to.row,
      column: to.column === LAST.column ? Math.max(used.column, from.column) : to.column,
    };
    if ((last.row - from.row + 1) * (last.column - from.column + 1) > MAX_CELLS)
      throw new FormulaError(`An area of more than ${MAX_CELLS} cells is not computed.`);
    const rows: Value[][] = [];
    for (let row = from.row; row <= last.row; row++) {
      const values: Value[] = [];
      for (let column = from.column; column <= last.column; column++) values.push(this.value(sheet, { row, column }));
      rows.push(values);
    }
    return rows;
  }
}

/** Whether it is a table of one cell. */
function isSmall(table: readonly (readonly Value[])[]): boolean {
  return table.length === 1 && table[0]?.length === 1;
}

/** The value of a small table. */
function single(result: Result): Value {
  return isTable(result) ? (result[0]?.[0] ?? null) : result;
}

/** What a cell shows. Several values would spill over its neighbors, which is not done here. */
function only(result: Result, what: string): Value {
  if (!isTable(result) || isSmall(result)) return single(result);
  const count = result.reduce((sum, row) => sum + row.length, 0);
  if (count === 0) return new CellError('#CALC!');
  throw new FormulaError(
    `${what} gives ${count} values, and a cell takes one. Make one value of them (COUNTA, SUM, TEXTJOIN), or take ` +
      'one with INDEX.',
  );
}

/** Does it with every pair of values. */
function each(left: Result, right: Result, act: (left: Value, right: Value) => Value): Result {
  return mapTables([left, right], ([a = null, b = null]) => act(a, b));
}

/** Does it with the values at each place of all tables; one value goes with every one of a table. */
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

function asNumber(value: Value): number | CellError {
  if (value instanceof CellError) return value;
  if (value === null) return 0;
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return numberOf(value) ?? new CellError('#VALUE!');
}

function numeric(value: Value, act: (number: number) => number): Value {
  const number = asNumber(value);
  return number instanceof CellError ? number : act(number);
}

function truth(value: Value): boolean | CellError {
  if (typeof value === 'string')
    return /^(true|false)$/i.test(value) ? value.toLowerCase() === 'true' : new CellError('#VALUE!');
  const number = asNumber(value);
  return number instanceof CellError ? number : number !== 0;
}

export function asText(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  return typeof value === 'number' ? numberText(value) : value instanceof CellError ? value.name : value;
}

function operate(sign: string, left: Value, right: Value): Value {
  if (left instanceof CellError) return left;
  if (right instanceof CellError) return right;
  if (sign === '&') return asText(left) + asText(right);
  if (['=', '<>', '<', '>', '<=', '>='].includes(sign)) return compared(sign, order(left, right));
  const a = asNumber(left);
  const b = asNumber(right);
  if (a instanceof CellError) return a;
  if (b instanceof CellError) return b;
  if (sign === '/' && b === 0) return new CellError('#DIV/0!');
  const value = sign === '+' ? a + b : sign === '-' ? a - b : sign === '*' ? a * b : sign === '/' ? a / b : a ** b;
  return Number.isFinite(value) ? value : new CellError('#NUM!');
}

/** Numbers are less than texts, texts less than truth values; a blank is like what it is compared with. */
function order(left: Value, right: Value): number {
  const rank = (value: Value): number => (typeof value === 'number' ? 0 : typeof value === 'string' ? 1 : 2);
  const like = (value: Value, other: Value): Value =>
    value !== null ? value : typeof other === 'string' ? '' : typeof other === 'boolean' ? false : 0;
  const [a, b] = [like(left, right), like(right, left)];
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === 'string' && typeof b === 'string') return a.localeCompare(b, 'en', { sensitivity: 'accent' });
  return Number(a) - Number(b);
}

function compared(sign: string, by: number): boolean {
  switch (sign) {
    case '=':
      return by === 0;
    case '<>':
      return by !== 0;
    case '<':
      return by < 0;
    case '>':
      return by > 0;
    case '<=':
      return by <= 0;
    default:
      return by >= 0;
  }
}
