/** Creating folders that people name. Free of Node's modules: gets what it needs from its caller. */
import { systemCodeOf } from './errors.ts';

interface PathModule {
  dirname(folder: string): string;
}

/**
 * Creates a folder and its parents; nothing happens if it exists. Throws the system's error. Node's `recursive` never
 * returns where the system reports an existing parent as missing, as in `/proc`. `create` creates a folder in an
 * existing one, as `mkdirSync`.
 */
export function createFolder(folder: string, path: PathModule, create: (folder: string) => void): void {
  try {
    create(folder);
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === 'EEXIST') return;
    const parent = path.dirname(folder);
    if (code !== 'ENOENT' || parent === folder) throw error;
    createFolder(parent, path, create);
    try {
      create(folder);
    } catch (again) {
      if (systemCodeOf(again) !== 'EEXIST') throw again; // another process was faster
    }
  }
}
