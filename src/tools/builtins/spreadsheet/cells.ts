/** Places in a sheet as people write them: `B3`, `A1:C9`. Columns and rows count from 1. */

export interface Spot {
  readonly column: number;
  readonly row: number;
}

export interface Area {
  readonly from: Spot;
  readonly to: Spot;
}

/** As large as a sheet may be. */
export const LAST: Spot = { column: 16_384, row: 1_048_576 };

/** `28` of `AB`. */
export function columnNumber(letters: string): number {
  let number = 0;
  for (const letter of letters.toUpperCase()) number = number * 26 + letter.charCodeAt(0) - 64;
  return number;
}

/** `AB` of `28`. */
export function columnLetters(column: number): string {
  let letters = '';
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26))
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  return letters;
}

/** undefined when it is none, or outside of a sheet. */
export function parseSpot(written: string): Spot | undefined {
  const match = /^\$?([A-Za-z]{1,3})\$?(\d{1,7})$/.exec(written.trim());
  const [, letters = '', digits = ''] = match ?? [];
  const spot = { column: columnNumber(letters), row: Number(digits) };
  return match !== null && spot.row >= 1 && spot.row <= LAST.row && spot.column <= LAST.column ? spot : undefined;
}

export function spotName({ column, row }: Spot): string {
  return `${columnLetters(column)}${row}`;
}

/** What a cell holds. An error is told by its name, e.g. `#DIV/0!`. */
export type Value = number | string | boolean | null | CellError;

export class CellError {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}
