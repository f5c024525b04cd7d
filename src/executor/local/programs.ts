/** Programs that tools say they need, on this machine. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { programNames } from '../../config/needs.ts';

const ENDINGS = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : [''];

/** Whether it is on the PATH. A browser need not be: it is found by other ways, so it counts as here. */
export function isHere(name: string, env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  const names = programNames(name);
  if (names === undefined) return true;
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  return folders.some((folder) => names.some((one) => ENDINGS.some((ending) => existsSync(path.join(folder, `${one}${ending}`)))));
}
