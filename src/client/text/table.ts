/** Renders plain tables for a terminal. */
import { harmlessLine } from '../../trace/text/terminal.ts';

/** Aligns rows of cells, the first of which is the heading. Columns listed in `right` are right-aligned. */
export function table(cells: readonly (readonly string[])[], right: readonly number[] = []): string {
  const rows = cells.map((row) => row.map(harmlessLine));
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          right.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * Joins parts with `separator` and wraps them to `width` characters. Continuation lines start with `indent`.
 */
export function wrapped(parts: readonly string[], separator: string, width: number, indent = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const part of parts) {
    if (line !== '' && line.length + separator.length + part.length > width) {
      lines.push(line + separator.trimEnd());
      line = indent + part;
    } else {
      line = line === '' ? part : line + separator + part;
    }
  }
  return [...lines, line].join('\n');
}

/** Formats a time in the local time zone, e.g. `2026-11-21 09:14:03`. */
export function moment(atMs: number): string {
  const date = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, '0');
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  );
}
