/** Finds the programs that tools need on this machine. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { CHROMIUM, programNames } from '../../config/needs.ts';
import { chromiumPlaces } from '../../config/tools/chromium.ts';

const ENDINGS = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : [''];

/**
 * Returns whether a program is on the PATH. A browser that comes with a tool need not be on the PATH: it counts as
 * available. Chromium is also searched in its usual locations.
 */
export function isInstalled(name: string, env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  if (name === CHROMIUM) return chromiumPlaces(process.platform, env, namesIn).some((file) => existsSync(file));
  const names = programNames(name);
  if (names === undefined) return true;
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  return folders.some((folder) =>
    names.some((one) => ENDINGS.some((ending) => existsSync(path.join(folder, `${one}${ending}`)))),
  );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
