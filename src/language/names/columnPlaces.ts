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
    case 'awm':
    case 'agent-world':
    case 'agentworldbench':
      return []; // its columns are not in the file
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
  let currentDepth = 0;
  // A text without its closing quote is a token, too: otherwise each quote in it would search the rest of the line.
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"?|[[\]{}]/g)) {
    if (token === '{' || token === '[') currentDepth += 1;
    else if (token === '}' || token === ']') currentDepth -= 1;
    else if (
      currentDepth === depth &&
      token === written &&
      /^\s*:/.test(text.slice(index + token.length, index + token.length + 100))
    )
      found.push({ start: index + 1, end: index + token.length - 1 });
  }
  return found;
}

function headerCells(text: string): { readonly name: string; readonly span: Span }[] {
  const headerStart = text.startsWith('\uFEFF') ? 1 : 0;
  const header = /^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text.slice(headerStart))?.[0] ?? '';
  return [...header.matchAll(/(?<=^|,)(?:"((?:[^"]|"")*)"|([^",]*))(?=,|$)/g)].map(
    ({ index, 1: quoted, 2: plain = '' }) => {
      const written = quoted ?? plain;
      const name = written.trim();
      const start = headerStart + index + (quoted === undefined ? 0 : 1) + written.indexOf(name);
      return { name: name.replaceAll('""', '"'), span: { start, end: start + name.length } };
    },
  );
}
