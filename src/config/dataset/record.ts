/** What every dataset format gives: its records one by one, broken ones among them. */

export type RawRecord = ReadRecord | BrokenRecord;

export interface ReadRecord {
  /** Where it begins, 1-based. */
  readonly line: number;
  readonly column: number;
  /** Position among the records, from 1. */
  readonly number: number;
  /** Any JSON value; a table's row is an object of texts. */
  readonly value: unknown;
}

export interface BrokenRecord {
  readonly line: number;
  readonly column: number;
  readonly number: number;
  readonly error: { readonly message: string; readonly hint: string };
}

/** A record longer than this is an error: it would not fit a message to the server. In UTF-16 units. */
export const RECORD_LIMIT = 16 * 1024 * 1024;

export const TOO_LONG = {
  message: `the record is longer than ${RECORD_LIMIT / 1024 / 1024} MiB`,
  hint: 'Put the long part into a file of its own and name it in the column of attachments.',
};

/** JSON.parse of one record that begins at `line`:`column`; the engine tells the place of an error where it can. */
export function parseRecord(text: string, at: { line: number; column: number; number: number }): RawRecord {
  try {
    return { ...at, value: JSON.parse(text) as unknown };
  } catch (thrown) {
    const said = thrown instanceof Error ? thrown.message : String(thrown);
    const offset = Number(/position (\d+)/.exec(said)?.[1] ?? 0);
    const before = text.slice(0, offset);
    const newlines = before.split('\n').length - 1;
    const what = said.replace(/ in JSON at position.*$/s, '').replace(/, (\.\.\.)?".*is not valid JSON$/s, '');
    return {
      number: at.number,
      line: at.line + newlines,
      column: newlines === 0 ? at.column + offset : offset - before.lastIndexOf('\n'),
      error: {
        message: `this record is not JSON: ${what.charAt(0).toLowerCase()}${what.slice(1)}`,
        hint: /\b(NaN|-?Infinity)\b/.test(text)
          ? 'JSON has no NaN and no Infinity: write null.'
          : 'Correct the record: keys and texts in double quotes, no comma at the end.',
      },
    };
  }
}
