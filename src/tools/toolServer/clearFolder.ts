import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { removeTree } from '../../disk/removeTree.ts';

/** Removes the contents of a folder: only the user of the programs may remove all that they left. The folder stays. */
export async function clearFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await removeTree(path.join(folder, name));
}
