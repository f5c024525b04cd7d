/** Folders below test/.out that several test files use, and the first one makes. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { root } from '../../../src/build/bundles.ts';

/**
 * Returns the folder `test/.out/<kind>/<version>`, which `make` fills if it is missing. Removes those of other
 * versions. Several files may make it at once: the first one that is ready counts.
 */
export async function madeOnce(
  kind: string,
  version: string,
  make: (folder: string) => void | Promise<void>,
): Promise<string> {
  const parent = path.join(root, 'test', '.out', kind);
  const folder = path.join(parent, version);
  if (existsSync(folder)) return folder;
  mkdirSync(parent, { recursive: true });
  const work = mkdtempSync(path.join(parent, 'new-'));
  try {
    await make(work);
    for (const other of readdirSync(parent))
      if (!other.startsWith('new-') && other !== version) rmSync(path.join(parent, other), { recursive: true });
    try {
      renameSync(work, folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}
