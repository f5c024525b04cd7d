/** Computes the formulas of a workbook, each once. */
import { type Area, CellError, LAST, type Spot, spotName, type Value } from '../cells.ts';
import { callFunction, isFunction } from './functions.ts';
import { type Formula, parseFormula } from './parse.ts';
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
      const value = single(this.#compute(parseFormula(cell.formula), { sheet, spot }));
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
    const one = (index: number): Value => single(result(index));
    const [first] = args;
    switch (name) {
      // What is not chosen is not computed: it may be wrong.
      case 'IF': {
        const test = truth(one(0));
        if (test instanceof CellError) return test;
        return test ? (args.length > 1 ? result(1) : true) : args.length > 2 ? result(2) : false;
      }
      case 'IFERROR':
      case 'IFNA': {
        const value = one(0);
        return value instanceof CellError && (name === 'IFERROR' || value.name === '#N/A') ? result(1) : value;
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
        return one(0) instanceof CellError;
      case 'ISNA': {
        const value = one(0);
        return value instanceof CellError && value.name === '#N/A';
      }
      case 'ISBLANK':
        return one(0) === null;
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

/** One value of a table: the first, as Excel shows it in one cell. */
function single(result: Result): Value {
  return isTable(result) ? (result[0]?.[0] ?? null) : result;
}

/** Does it with every pair of values; one value goes with every one of a table. */
function each(left: Result, right: Result, act: (left: Value, right: Value) => Value): Result {
  if (!isTable(left) && !isTable(right)) return act(left, right);
  const rows = Math.max(isTable(left) ? left.length : 1, isTable(right) ? right.length : 1);
  const columns = Math.max(isTable(left) ? (left[0]?.length ?? 1) : 1, isTable(right) ? (right[0]?.length ?? 1) : 1);
  const pick = (from: Result, row: number, column: number): Value => {
    if (!isTable(from)) return from;
    const values = from[from.length === 1 ? 0 : row];
    const value = values?.[values.length === 1 ? 0 : column];
    return value === undefined ? new CellError('#N/A') : value;
  };
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (__, column) => act(pick(left, row, column), pick(right, row, column))),
  );
}

function asNumber(value: Value): number | CellError {
  if (value instanceof CellError) return value;
  if (value === null) return 0;
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  const number = value.trim() === '' ? Number.NaN : Number(value);
  return Number.isNaN(number) ? new CellError('#VALUE!') : number;
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

function asText(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  // Numbers have 15 digits in a sheet.
  return typeof value === 'number'
    ? String(Number(value.toPrecision(15)))
    : value instanceof CellError
      ? value.name
      : value;
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
