/** Removes what programs left, which only their own user can remove. */
import { chmod, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { systemCodeOf } from '../../common/errors.ts';

/** Removes the contents of a folder, also of subfolders that are closed to their owner. The folder itself stays. */
export async function clearFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    await rm(file, { recursive: true, force: true, maxRetries: 5 }).catch(async (error: unknown) => {
      if (systemCodeOf(error) !== 'EACCES') throw error;
      await open(file);
      await rm(file, { recursive: true, force: true });
    });
  }
}

async function open(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await open(path.join(folder, entry.name));
}
