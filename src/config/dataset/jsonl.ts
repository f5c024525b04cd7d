import { parseRecord, type RawRecord, RECORD_LIMIT, TOO_LONG } from './record.ts';
import { linesOf } from './text.ts';

/** Reads JSON Lines: one JSON value per line; blank lines are skipped. Throws NotUtf8. */
export async function* jsonlRecords(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<RawRecord> {
  let number = 0;
  for await (const { text, line } of linesOf(bytes, RECORD_LIMIT)) {
    if (text?.trim() === '') continue;
    number++;
    yield text === undefined
      ? { line, column: 1, number, error: TOO_LONG }
      : parseRecord(text, { line, column: 1, number });
  }
}
