/** The files that checks read. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** Returns the TypeScript files of a folder and of its folders, without declarations; none if it does not exist. */
export function sourceFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) return sourceFiles(full);
    return /(?<!\.d)\.tsx?$/.test(entry.name) ? [full] : [];
  });
}
