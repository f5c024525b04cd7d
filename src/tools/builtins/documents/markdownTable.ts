import { joinedLines } from '../../../common/text.ts';

/** Formats rows as a Markdown table; the first row is the header. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const columns = rows.reduce((max, row) => Math.max(max, row.length), 0);
  if (columns === 0) return '';
  const cell = (text = ''): string => joinedLines(text.replaceAll('|', '\\|'), ' ');
  const line = (row: readonly string[]): string =>
    `| ${Array.from({ length: columns }, (_, index) => cell(row[index])).join(' | ')} |`;
  const [head = [], ...others] = rows;
  return [line(head), `|${'---|'.repeat(columns)}`, ...others.map(line)].join('\n');
}
