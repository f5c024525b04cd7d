/** Rows of texts as a table of Markdown; the first is its head. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
  if (columns === 0) return '';
  const line = (row: readonly string[]): string =>
    '| ' +
    `${Array.from({ length: columns }, (_, index) => (row[index] ?? '').replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')).join(' | ')} ` +
    '|';
  const [head = [], ...others] = rows;
  return [line(head), `|${'---|'.repeat(columns)}`, ...others.map(line)].join('\n');
}
