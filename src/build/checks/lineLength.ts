/** Finds lines that are too long: the formatter leaves a long text or pattern as it is. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const MAX_COLUMNS = 120;
const FOLDERS = ['src', 'webview', 'test'] as const;
const CHECKED = /(?<!\.d)\.(ts|tsx|mjs|js|css)$/;
/** Files written by other programs, or compared word for word by tests. */
const SKIPPED = new Set(['fixtures', '.out']);

/** Returns one line for each line that is too long, as `file:line: text`. */
export function longLines(root: string): string[] {
  return FOLDERS.flatMap((folder) => filesIn(path.join(root, folder))).flatMap((file) => {
    const relativePath = path.relative(root, file).split(path.sep).join('/');
    return readFileSync(file, 'utf8')
      .split(/\r?\n/)
      .flatMap((line, index) =>
        line.length > MAX_COLUMNS
          ? [`${relativePath}:${index + 1}: ${line.length} columns; the maximum is ${MAX_COLUMNS}`]
          : [],
      );
  });
}

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (SKIPPED.has(entry.name)) return [];
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return filesIn(file);
    return CHECKED.test(entry.name) ? [file] : [];
  });
}
