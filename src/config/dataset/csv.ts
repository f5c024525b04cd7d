import { type RawRecord, RECORD_LIMIT, TOO_LONG } from './record.ts';
import { textChunks } from './text.ts';

interface Row {
  readonly line: number;
  readonly cells: string[];
  readonly problem?: { readonly column: number; readonly message: string; readonly hint: string };
}

/**
 * Reads comma-separated values (RFC 4180): a header, doubled quotes and line breaks inside quotes; rows end with LF,
 * CRLF, or CR. Each record is an object of strings. Blank lines are skipped. Throws NotUtf8.
 */
export async function* csvRecords(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<RawRecord> {
  let header: string[] | undefined;
  let number = 0;
  for await (const row of csvRows(bytes)) {
    if (row.cells.length === 1 && row.cells[0] === '' && row.problem === undefined) continue;
    if (header === undefined) {
      header = row.cells.map((cell) => cell.trim());
      const error = row.problem ?? headerError(header);
      if (error === undefined) continue;
      yield { line: row.line, column: 1, number: 1, error };
      return;
    }
    number++;
    const error = row.problem ?? widthError(header, row.cells);
    if (error !== undefined) {
      yield {
        line: row.line,
        column: row.problem?.column ?? 1,
        number,
        error: { message: error.message, hint: error.hint },
      };
      continue;
    }
    yield {
      line: row.line,
      column: 1,
      number,
      value: Object.fromEntries(header.map((name, index) => [name, row.cells[index] ?? ''])),
    };
  }
  if (header === undefined)
    yield {
      line: 1,
      column: 1,
      number: 1,
      error: { message: 'the file is empty', hint: 'The first line of a CSV file names its columns.' },
    };
}

function headerError(header: readonly string[]): { message: string; hint: string } | undefined {
  const other = ['\t', ';', '|'].find((separator) => header.length === 1 && header[0]?.includes(separator) === true);
  if (other !== undefined) {
    return {
      message: `columns are separated by ${other === '\t' ? 'tabs' : `\`${other}\``} instead of commas`,
      hint: 'Save the file as CSV with comma separators.',
    };
  }
  const empty = header.indexOf('');
  if (empty !== -1)
    return { message: `column ${empty + 1} has no name`, hint: 'Add a name for every column in the first line.' };
  const duplicate = header.find((name, index) => header.indexOf(name) !== index);
  return duplicate === undefined
    ? undefined
    : { message: `two columns are named \`${duplicate}\``, hint: 'Rename one of them.' };
}

function widthError(
  header: readonly string[],
  cells: readonly string[],
): { message: string; hint: string } | undefined {
  if (cells.length === header.length) return undefined;
  return {
    message: `this row has ${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}, the header ${header.length}`,
    hint:
      cells.length > header.length
        ? 'Put double quotes around cells that contain a comma.'
        : 'Add the missing commas. For an empty cell, write nothing between two commas.',
  };
}

/** Ends an unquoted cell; a quote inside it is an ordinary character. */
const PLAIN_END = /[,\r\n]/g;

/** Splits rows with a state machine: at the start of a cell, in a plain or quoted cell, after a closing quote. */
async function* csvRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Row> {
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start';
  let cells: string[] = [];
  let cell = '';
  let line = 1; // first line of the row
  let breaks = 0; // line breaks in quotes since then
  let column = 1;
  let size = 0;
  let problem: Row['problem'];
  let afterReturn = false;

  const endCell = (): void => {
    cells.push(cell);
    cell = '';
    state = 'start';
  };
  const endRow = (): Row => {
    endCell();
    const row: Row = problem === undefined ? { line, cells } : { line, cells, problem };
    line += breaks + 1;
    cells = [];
    breaks = 0;
    column = 1;
    size = 0;
    problem = undefined;
    return row;
  };

  for await (const chunk of textChunks(bytes)) {
    let at = 0;
    while (at < chunk.length) {
      const character = chunk.charAt(at);
      if (afterReturn) {
        afterReturn = false;
        if (character === '\n') {
          at++;
          continue;
        }
      }
      if (state === 'quoted') {
        // Everything up to the next quote belongs to the cell.
        const quote = chunk.indexOf('"', at);
        const end = quote === -1 ? chunk.length : quote;
        const piece = chunk.slice(at, end);
        size += piece.length;
        if (size > RECORD_LIMIT) problem ??= { column: 1, ...TOO_LONG };
        else cell += piece;
        for (let found = piece.indexOf('\n'); found !== -1; found = piece.indexOf('\n', found + 1)) breaks++;
        if (quote !== -1) state = 'closed';
        column += end - at + 1;
        at = end + 1;
        continue;
      }
      if (character === ',') {
        endCell();
      } else if (character === '\n' || character === '\r') {
        afterReturn = character === '\r';
        at++;
        yield endRow();
        continue;
      } else if (character === '"' && state === 'start') {
        state = 'quoted';
      } else if (character === '"' && state === 'closed') {
        cell += '"'; // a doubled quote stands for one quote
        state = 'quoted';
      } else {
        if (state === 'closed') {
          problem ??= {
            column,
            message: 'text follows the closing quote of a cell',
            hint: 'Double the quotes inside quoted cells: "he said ""yes""".',
          };
        }
        state = 'plain';
        PLAIN_END.lastIndex = at;
        const end = PLAIN_END.exec(chunk)?.index ?? chunk.length;
        size += end - at;
        if (size > RECORD_LIMIT) problem ??= { column: 1, ...TOO_LONG };
        else cell += chunk.slice(at, end);
        column += end - at;
        at = end;
        continue;
      }
      at++;
      column++;
    }
  }
  if (state === 'quoted') {
    yield {
      line,
      cells,
      problem: {
        column: 1,
        message: 'a quote in this row is not closed',
        hint: 'Close the quote, or double it if it is part of the text.',
      },
    };
  } else if (cells.length > 0 || cell !== '' || state !== 'start') {
    yield endRow();
  }
}
