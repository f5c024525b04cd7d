/** Cell references such as `B3` and `A1:C9`. Columns and rows are 1-based. */

export interface Spot {
  readonly column: number;
  readonly row: number;
}

export interface Area {
  readonly from: Spot;
  readonly to: Spot;
}

/** The last cell of a sheet of maximum size. */
export const LAST: Spot = { column: 16_384, row: 1_048_576 };

/** Returns 28 for `AB`. */
export function columnNumber(letters: string): number {
  let number = 0;
  for (const letter of letters.toUpperCase()) number = number * 26 + letter.charCodeAt(0) - 64;
  return number;
}

/** Returns `AB` for 28. */
export function columnLetters(column: number): string {
  let letters = '';
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26))
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  return letters;
}

/** Parses a cell reference; undefined if it is invalid or outside a sheet. */
export function parseSpot(written: string): Spot | undefined {
  const match = /^\$?([A-Za-z]{1,3})\$?(\d{1,7})$/.exec(written.trim());
  const [, letters = '', digits = ''] = match ?? [];
  const spot = { column: columnNumber(letters), row: Number(digits) };
  return match !== null && spot.row >= 1 && spot.row <= LAST.row && spot.column <= LAST.column ? spot : undefined;
}

export function spotName({ column, row }: Spot): string {
  return `${columnLetters(column)}${row}`;
}

/** The value of a cell. An error has a name, e.g. `#DIV/0!`. */
export type Value = number | string | boolean | null | CellError;

export class CellError {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}
