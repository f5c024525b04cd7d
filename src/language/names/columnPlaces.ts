/** Finds the occurrences of a column name in a dataset: keys of JSON records, or the CSV header. */
import type { DatasetFormat } from '../../config/dataset/dataset.ts';
import type { Span } from './codeNames.ts';

/** Ranges of the name without quotes. */
export function columnPlaces(text: string, format: DatasetFormat, column: string): Span[] {
  switch (format) {
    case 'csv':
      return headerCells(text)
        .filter(({ name }) => name === column)
        .map(({ span }) => span);
    case 'json':
      return keysAt(text, 2, column);
    case 'jsonl':
    case 'gaia': {
      const found: Span[] = [];
      let offset = 0;
      // An invalid line does not affect others.
      for (const line of text.split('\n')) {
        for (const { start, end } of keysAt(line, 1, column)) found.push({ start: start + offset, end: end + offset });
        offset += line.length + 1;
      }
      return found;
    }
  }
}

/** Finds keys with this name at the given depth. */
function keysAt(text: string, depth: number, name: string): Span[] {
  const written = JSON.stringify(name);
  const found: Span[] = [];
  let now = 0;
  for (const { 0: piece, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"|[[\]{}]/g)) {
    if (piece === '{' || piece === '[') now += 1;
    else if (piece === '}' || piece === ']') now -= 1;
    else if (
      now === depth &&
      piece === written &&
      /^\s*:/.test(text.slice(index + piece.length, index + piece.length + 100))
    )
      found.push({ start: index + 1, end: index + piece.length - 1 });
  }
  return found;
}

function headerCells(text: string): { readonly name: string; readonly span: Span }[] {
  const begin = text.startsWith('\uFEFF') ? 1 : 0;
  const header = /^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text.slice(begin))?.[0] ?? '';
  return [...header.matchAll(/(?<=^|,)(?:"((?:[^"]|"")*)"|([^",]*))(?=,|$)/g)].map(
    ({ index, 1: quoted, 2: plain = '' }) => {
      const written = quoted ?? plain;
      const name = written.trim();
      const start = begin + index + (quoted === undefined ? 0 : 1) + written.indexOf(name);
      return { name: name.replaceAll('""', '"'), span: { start, end: start + name.length } };
    },
  );
}
