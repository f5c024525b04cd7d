/** How long lines and files may be: the formatter leaves a long text, pattern, or file as it is. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const MAX_COLUMNS = 120;
/** Of a source; a test may hold many cases. */
const MAX_LINES = 400;
const FOLDERS = ['src', 'webview', 'test'] as const;
const CHECKED = /(?<!\.d)\.(ts|tsx|mjs|js|css)$/;
/** What other programs wrote, or are given word for word. */
const SKIPPED = new Set(['fixtures', '.out']);

/** Returns one line for each line or file that is too long, as `file:line: text`. */
export function tooLong(root: string): string[] {
  return FOLDERS.flatMap((folder) => filesIn(path.join(root, folder))).flatMap((file) => {
    const shown = path.relative(root, file).split(path.sep).join('/');
    const lines = readFileSync(file, 'utf8').split('\n');
    const problems = lines.flatMap((line, index) =>
      line.length > MAX_COLUMNS ? [`${shown}:${index + 1}: ${line.length} columns, at most ${MAX_COLUMNS}`] : [],
    );
    if (!shown.startsWith('test/') && lines.length - 1 > MAX_LINES)
      problems.push(`${shown}:${MAX_LINES + 1}: ${lines.length - 1} lines, at most ${MAX_LINES}; split the file`);
    return problems;
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
