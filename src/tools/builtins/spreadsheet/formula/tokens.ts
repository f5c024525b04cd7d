/** Splits spreadsheet formulas into tokens. */
import { columnLetters, columnNumber, LAST } from '../cells.ts';

export class FormulaError extends Error {}

/** A row or column of a reference; `fixed`: absolute (`$`), unchanged when the formula is copied. */
interface Axis {
  readonly at: number;
  readonly fixed: boolean;
}

export type Token =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'error'; readonly value: string }
  /** In a reference to a whole row or column, followed by `:`, the other one is undefined. */
  | {
      readonly kind: 'cell';
      readonly sheet: string | undefined;
      readonly column: Axis | undefined;
      readonly row: Axis | undefined;
    }
  | { readonly kind: 'name'; readonly value: string }
  /** A name followed by `(`. */
  | { readonly kind: 'call'; readonly value: string }
  | { readonly kind: 'sign'; readonly value: string };

const SPACE = /\s+/y;
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const TEXT = /"((?:[^"]|"")*)"/y;
const ERROR = /#(?:NULL!|DIV\/0!|VALUE!|REF!|NAME\?|NUM!|N\/A)/y;
const SHEET = /(?:'((?:[^']|'')+)'|([\p{L}_][\p{L}\p{N}_.]*))!/uy;
const CELL = /(\$?)([A-Za-z]{1,3})(\$?)(\d{1,7})(?![\p{L}\p{N}_(.])/uy;
const COLUMN = /(\$?)([A-Za-z]{1,3})(?=\s*:\s*\$?[A-Za-z]{1,3}(?![\p{L}\p{N}_(.]))/uy;
const COLUMN_END = /(\$?)([A-Za-z]{1,3})(?![\p{L}\p{N}_(.])/uy;
const ROW = /(\$?)(\d{1,7})(?=\s*:\s*\$?\d{1,7}(?![\p{L}\p{N}_(.]))/uy;
const ROW_END = /(\$?)(\d{1,7})(?![\p{L}\p{N}_(.])/uy;
const CALL = /([\p{L}_][\p{L}\p{N}_.]*)\s*\(/uy;
const NAME = /[\p{L}_\\][\p{L}\p{N}_.]*/uy;
const SIGN = /<>|<=|>=|[-+*/^&=<>%(),;:{}]/y;

/** Splits a formula without its `=`. Throws FormulaError. */
export function tokens(formula: string): Token[] {
  const found: Token[] = [];
  let at = 0;
  const next = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(formula);
    if (match === null) return undefined;
    at = pattern.lastIndex;
    return match;
  };
  while (at < formula.length) {
    if (next(SPACE) !== undefined) continue;
    const begin = at;
    const sheetMatch = next(SHEET);
    const sheet = sheetMatch === undefined ? undefined : (sheetMatch[1]?.replaceAll("''", "'") ?? sheetMatch[2]);
    const cell = reference(next, sheet, found);
    if (cell !== undefined) {
      found.push(cell);
      continue;
    }
    if (sheet !== undefined) throw new FormulaError(`Expected a cell after ${formula.slice(begin, at)}.`);
    let match: RegExpExecArray | undefined;
    if ((match = next(NUMBER)) !== undefined) found.push({ kind: 'number', value: Number(match[0]) });
    else if ((match = next(TEXT)) !== undefined)
      found.push({ kind: 'text', value: (match[1] ?? '').replaceAll('""', '"') });
    else if ((match = next(ERROR)) !== undefined) found.push({ kind: 'error', value: match[0] });
    else if ((match = next(CALL)) !== undefined)
      found.push({ kind: 'call', value: (match[1] ?? '').toUpperCase().replace(/^(_XLFN\.|_XLWS\.)+/, '') });
    else if ((match = next(NAME)) !== undefined) found.push({ kind: 'name', value: match[0] });
    else if ((match = next(SIGN)) !== undefined) found.push({ kind: 'sign', value: match[0] });
    else throw new FormulaError(`Unexpected "${formula[at] ?? ''}" at position ${at + 1}.`);
  }
  return found;
}

function reference(
  next: (pattern: RegExp) => RegExpExecArray | undefined,
  sheet: string | undefined,
  before: readonly Token[],
): Token | undefined {
  const whole = next(CELL);
  if (whole !== undefined)
    return { kind: 'cell', sheet, column: column(whole[1], whole[2]), row: row(whole[3], whole[4]) };
  const colon = before.at(-1);
  const other = before.at(-2);
  // The second half of `A:C` or `2:5`.
  const half =
    colon?.kind === 'sign' &&
    colon.value === ':' &&
    other?.kind === 'cell' &&
    (other.row === undefined || other.column === undefined)
      ? other
      : undefined;
  const columns = next(half !== undefined && half.row === undefined ? COLUMN_END : COLUMN);
  if (columns !== undefined) return { kind: 'cell', sheet, column: column(columns[1], columns[2]), row: undefined };
  const rows = next(half !== undefined && half.column === undefined ? ROW_END : ROW);
  return rows === undefined ? undefined : { kind: 'cell', sheet, column: undefined, row: row(rows[1], rows[2]) };
}

function column(dollar: string | undefined, letters: string | undefined): Axis {
  return { fixed: dollar === '$', at: columnNumber(letters ?? '') };
}

function row(dollar: string | undefined, digits: string | undefined): Axis {
  return { fixed: dollar === '$', at: Number(digits) };
}

/** Returns a formula adjusted for copying its cell by a number of columns and rows. */
export function shiftFormula(formula: string, columns: number, rows: number): string {
  return tokens(formula)
    .map((token) => {
      switch (token.kind) {
        case 'number':
          return String(token.value);
        case 'text':
          return `"${token.value.replaceAll('"', '""')}"`;
        case 'call':
          return `${token.value}(`;
        case 'cell': {
          const letters = token.column === undefined ? '' : axis(token.column, columns, LAST.column, columnLetters);
          const digits = token.row === undefined ? '' : axis(token.row, rows, LAST.row, String);
          const sheet = token.sheet === undefined ? '' : `'${token.sheet.replaceAll("'", "''")}'!`;
          return letters === undefined || digits === undefined ? '#REF!' : `${sheet}${letters}${digits}`;
        }
        default:
          return token.value;
      }
    })
    .join('');
}

function axis({ at, fixed }: Axis, by: number, last: number, show: (at: number) => string): string | undefined {
  const to = fixed ? at : at + by;
  return to < 1 || to > last ? undefined : `${fixed ? '$' : ''}${show(to)}`;
}
