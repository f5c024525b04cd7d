import os from 'node:os';
import path from 'node:path';
import { dataFolder } from '../tools/dataFolder.ts';

export { dataFolder };

/** Returns the default store, which the CLI and the extension share. */
export function defaultStore(env: NodeJS.ProcessEnv = process.env): string {
  return path.join(dataFolder(env), 'store');
}

/** Returns the user's cache folder of this product. Writers create it. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  const home = os.homedir();
  switch (process.platform) {
    case 'win32':
      return path.join(dataFolder(env), 'cache');
    case 'darwin':
      return path.join(home, 'Library', 'Caches', 'rollout-studio');
    default:
      return path.join(absolute(env['XDG_CACHE_HOME']) ?? path.join(home, '.cache'), 'rollout-studio');
  }
}

/** Returns the folder with results of the lint of worlds. Writers create it. */
export function lintFolder(env: NodeJS.ProcessEnv = process.env): string {
  return path.join(cacheFolder(env), 'lint');
}

/**
 * Returns folders for large temporary files, best first: on Linux TMPDIR if it is set, e.g. on a cluster with local
 * disks, then the user's cache folder, because `/tmp` is often in memory.
 */
export function workBases(env: NodeJS.ProcessEnv = process.env): string[] {
  switch (process.platform) {
    case 'win32':
      return [path.join(dataFolder(env), 'work'), os.tmpdir()];
    case 'darwin': // its TMPDIR is always set, and the system removes what is older than three days there
      return [cacheFolder(env), os.tmpdir()];
    default: {
      const temporary = absolute(env['TMPDIR']);
      return temporary === undefined ? [cacheFolder(env), os.tmpdir()] : [temporary, cacheFolder(env)];
    }
  }
}

/** A relative path would depend on the folder in which a server was started. */
function absolute(folder: string | undefined): string | undefined {
  return folder !== undefined && path.isAbsolute(folder) ? folder : undefined;
}
