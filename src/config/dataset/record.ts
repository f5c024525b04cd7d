/** A record of a dataset in any format; broken records are included. */

export type RawRecord = ReadRecord | BrokenRecord;

interface ReadRecord {
  /** If the dataset has several files. */
  readonly file?: string;
  /** Start of the record, 1-based. */
  readonly line: number;
  readonly column: number;
  /** Number of the record, from 1. */
  readonly number: number;
  /** Any JSON value; a CSV row is an object of strings. */
  readonly value: unknown;
}

interface BrokenRecord {
  readonly file?: string;
  readonly line: number;
  readonly column: number;
  readonly number: number;
  readonly error: { readonly message: string; readonly hint: string };
}

/** Longest record, in UTF-16 units: a longer one does not fit in a message to the server. */
export const RECORD_LIMIT = 16 * 1024 * 1024;

export const TOO_LONG = {
  message: `the record is longer than ${RECORD_LIMIT / 1024 / 1024} MiB`,
  hint: 'Move the long part to a separate file and attach it with the `files` column.',
};

/** Parses a record that starts at `line`:`column`, and locates the error if the engine reports its position. */
export function parseRecord(text: string, at: { line: number; column: number; number: number }): RawRecord {
  try {
    return { ...at, value: JSON.parse(text) as unknown };
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    const offset = Number(/position (\d+)/.exec(reason)?.[1] ?? 0);
    const before = text.slice(0, offset);
    const newlines = before.split('\n').length - 1;
    const what = reason.replace(/ in JSON at position.*$/s, '').replace(/, (\.\.\.)?".*is not valid JSON$/s, '');
    return {
      number: at.number,
      line: at.line + newlines,
      column: newlines === 0 ? at.column + offset : offset - before.lastIndexOf('\n'),
      error: {
        message: `invalid JSON: ${what.charAt(0).toLowerCase()}${what.slice(1)}`,
        hint: /\b(NaN|-?Infinity)\b/.test(text)
          ? 'JSON does not support NaN and Infinity: write null.'
          : 'Fix the record: use double quotes for keys and strings, and no trailing comma.',
      },
    };
  }
}
