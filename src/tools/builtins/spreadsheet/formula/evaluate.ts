/** Evaluates the formulas of a workbook, each once. */
import { type Area, CellError, LAST, type Spot, spotName, type Value } from '../cells.ts';
import { callFunction, isFunction } from './functions.ts';
import { type Formula, parseFormula } from './parse.ts';
import { asText, isTable, mapTables, type Result, single } from './results.ts';
import { numberOf } from './text.ts';
import { FormulaError } from './tokens.ts';

/** Access to the cells that formulas refer to. */
export interface Cells {
  readonly sheets: readonly string[];
  /** Returns the last used column and row. */
  used(sheet: string): Spot;
  /** Returns the content of a cell: a value, or a formula without `=`. */
  cell(sheet: string, spot: Spot): { readonly value: Value } | { readonly formula: string };
  /** Returns the formula that a defined name stands for. */
  definedName(name: string): string | undefined;
}

const MAX_CELLS = 1_000_000;
/** Limits chains of dependent formulas, to protect the stack. */
const MAX_DEPTH = 400;

export class Evaluator {
  readonly #cells: Cells;
  readonly #values = new Map<string, Value>();
  readonly #running = new Set<string>();

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Returns the value of a cell. Throws FormulaError for unsupported formulas; evaluation errors are values. */
  value(sheet: string, spot: Spot): Value {
    const cell = this.#cells.cell(sheet, spot);
    if ('value' in cell) return cell.value;
    const key = `${sheet}\0${spotName(spot)}`;
    const cached = this.#values.get(key);
    if (cached !== undefined) return cached;
    if (this.#running.has(key)) throw new FormulaError(`${sheet}!${spotName(spot)} refers to itself.`);
    if (this.#running.size > MAX_DEPTH) throw new FormulaError('The chain of dependent formulas is too long.');
    this.#running.add(key);
    try {
      const tree = parseFormula(cell.formula);
      const value = cellValue(this.#compute(tree, { sheet, spot }), tree.kind === 'call' ? tree.name : 'The formula');
      this.#values.set(key, value ?? 0);
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
        return mapPairs(this.#compute(tree.of, at), 0, (value) => numeric(value, (number) => -number));
      case 'percent':
        return mapPairs(this.#compute(tree.of, at), 0, (value) => numeric(value, (number) => number / 100));
      case 'operator':
        return mapPairs(this.#compute(tree.left, at), this.#compute(tree.right, at), (left, right) =>
          operate(tree.sign, left, right),
        );
      case 'name': {
        const formula = this.#cells.definedName(tree.name);
        if (formula === undefined) throw new FormulaError(`The workbook does not define the name "${tree.name}".`);
        return this.#compute(parseFormula(formula), at);
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
        throw new FormulaError(`The function ${name} expects one value, but got several.`);
      return single(value);
    };
    const [first] = args;
    switch (name) {
      // Only the selected branch is evaluated: the other one may be an error.
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
      // These use the position of a reference, not its value.
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
    if (found === undefined) throw new FormulaError(`Unknown sheet "${name}".`);
    return found;
  }

  #area(sheet: string, { from, to }: Area): Result {
    if (from.row === to.row && from.column === to.column) return this.value(sheet, from);
    const used = this.#cells.used(sheet);
    // A whole column or row ends at the last used cell.
    const last: Spot = {
      row: to.row === LAST.row ? Math.max(used.row, from.row) : to.row,
      column: to.column === LAST.column ? Math.max(used.column, from.column) : to.column,
    };
    if ((last.row - from.row + 1) * (last.column - from.column + 1) > MAX_CELLS)
      throw new FormulaError(`The area has more than ${MAX_CELLS} cells.`);
    const rows: Value[][] = [];
    for (let row = from.row; row <= last.row; row++) {
      const values: Value[] = [];
      for (let column = from.column; column <= last.column; column++) values.push(this.value(sheet, { row, column }));
      rows.push(values);
    }
    return rows;
  }
}

/** Returns whether a table has only one cell. */
function isSmall(table: readonly (readonly Value[])[]): boolean {
  return table.length === 1 && table[0]?.length === 1;
}

/** Returns the single value of a cell. Spilling into neighboring cells is not supported. */
function cellValue(result: Result, what: string): Value {
  if (!isTable(result) || isSmall(result)) return single(result);
  const count = result.reduce((sum, row) => sum + row.length, 0);
  if (count === 0) return new CellError('#CALC!');
  throw new FormulaError(
    `${what} returns ${count} values, but a cell holds only one. Combine them (COUNTA, SUM, TEXTJOIN), or select one ` +
      'with INDEX.',
  );
}

/** Applies a function to every pair of values. */
function mapPairs(left: Result, right: Result, act: (left: Value, right: Value) => Value): Result {
  return mapTables([left, right], ([a = null, b = null]) => act(a, b));
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

/** Compares values: numbers before text before booleans; a blank takes the type of the other value. */
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
