import { existsSync } from 'node:fs';
import path from 'node:path';

/** Returns the first of `names` on the PATH. */
export function findProgram(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  const ending = process.platform === 'win32' ? '.exe' : '';
  for (const name of names) {
    for (const folder of folders) {
      const file = path.join(folder, `${name}${ending}`);
      if (existsSync(file)) return file;
    }
  }
  return undefined;
}
