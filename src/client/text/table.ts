/** Plain tables for a terminal. */

/** Rows of cells as aligned lines; the first row is the heading. `right`: columns set flush right (numbers). */
export function table(rows: readonly (readonly string[])[], right: readonly number[] = []): string {
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
 * Parts joined by `separator`, on as many lines of `width` characters as they need; later lines begin with `indent`.
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

/** A moment in the user's zone, e.g. `2026-11-21 09:14:03`. */
export function moment(atMs: number): string {
  const date = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, '0');
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  );
}

/** 1234567 → `1.23M`, 12345 → `12.3k`. */
export function amount(value: number): string {
  if (value < 10_000) return value.toLocaleString('en-US');
  if (value < 1e6) return `${trimmed(value / 1e3)}k`;
  if (value < 1e9) return `${trimmed(value / 1e6)}M`;
  return `${trimmed(value / 1e9)}G`;
}

function trimmed(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** Milliseconds as `840 ms`, `12.3 s`, `4 min 05 s` or `2 h 03 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
  return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, '0')} min`;
}

/** Bytes as `812 B`, `4.2 kB`, `127 MB`. */
export function bytes(value: number): string {
  return value < 1000
    ? `${value} B`
    : value < 1e6
      ? `${trimmed(value / 1e3)} kB`
      : value < 1e9
        ? `${trimmed(value / 1e6)} MB`
        : `${trimmed(value / 1e9)} GB`;
}
